"""What a game is: positions, rules, boards, symmetries and notation."""
