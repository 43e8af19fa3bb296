"""The paper: SPD1 and SPD1-VR, one entry or one tile a step."""
