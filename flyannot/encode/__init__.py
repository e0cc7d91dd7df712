"""From codes to one vector per image or group."""
