from .problem import Problem
from .regularizers import *
from .certificate import *
from .losses import *
