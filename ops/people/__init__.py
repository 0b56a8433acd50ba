"""Who belongs: participants and their cards, staff and what they may see, sites. Everything that changes it."""
