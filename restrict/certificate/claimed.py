"""What can be checked at one length: a certificate, a refutation or a lower bound."""

from restrict.certificate.certificate import Certificate
from restrict.certificate.lower_bound import LowerBound
from restrict.certificate.refutation import Refutation

Claimed = Certificate | Refutation | LowerBound
