class Proximal:
    def __init__(self, o): pass
