from noisetop.api import NoisetopError as NoisetopError
from noisetop.api import Recording as Recording
from noisetop.api import open as open
