"""Search, generic over games and compiled: alpha-beta and Monte-Carlo trees."""
