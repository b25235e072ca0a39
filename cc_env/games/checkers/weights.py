"""The weights of the evaluation `standard` of checkers: by hand, before any tuning."""

_ADVANCE = 8, 14, 10, 7, 4, 2, 0, 8  # of a man on each row from the far one; the last is a guard

MEN = [100 + _ADVANCE[cell // 8] for cell in range(64)]
KINGS = [175 + 3 * min(cell // 8, 7 - cell // 8, cell % 8, 7 - cell % 8) for cell in range(64)]
WEIGHTS = *MEN, *KINGS, 3, 2, 40, 25, 15, 8, 4, 0, 0
