"""The rows of Tables 1 to 14 of nguyen2023 as printed, transcribed once.

A line is a row: its name, then mean and ± of each column (Tables 4 and 12 to 14: the values alone). Numbers
in parentheses are those that Table 1 quotes from other work for the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

COLUMNS = ("softmax", "Attention-BN", "Attention-SH", "Attention-BN+SH")


@dataclass(frozen=True)
class Table:
    """Rows by name: the numbers in print order; ``quoted`` those in parentheses."""

    rows: dict[str, tuple[Fraction, ...]]
    quoted: dict[str, Fraction]

    @property
    def tasks(self) -> list[str]:
        """The rows other than the average."""
        return [name for name in self.rows if name != "Average"]

    def means(self, column: int) -> tuple[Fraction, ...]:
        """The means of one column, task by task."""
        return tuple(self.rows[task][2 * column] for task in self.tasks)

    def average(self, column: int) -> Fraction:
        """The printed average of one column."""
        return self.rows["Average"][2 * column]

    def spread(self, column: int) -> Fraction:
        """The ± of the printed average of one column."""
        return self.rows["Average"][2 * column + 1]


def parse(text: str) -> Table:
    """A table from its lines."""
    rows, quoted = {}, {}
    for line in text.strip().splitlines():
        name, *cells = line.split()
        rows[name] = tuple(Fraction(c) for c in cells if not c.startswith("("))
        for cell in cells:
            if cell.startswith("("):
                quoted[name] = Fraction(cell.strip("()"))
    return Table(rows, quoted)


TABLE_1 = parse("""
EthanolConcentration 32.08 1.24 33.33 0.44 33.59 0.58 34.35 0.53 (33.70)
FaceDetection 68.70 0.61 68.62 0.26 68.83 0.16 68.67 0.13 (68.10)
HandWriting 32.08 0.88 33.17 0.20 33.29 0.42 33.45 0.61 (30.50)
HeartBeat 75.77 1.01 76.10 0.98 76.25 1.02 76.26 1.07 (77.60)
JapaneseVowels 99.46 0.27 99.55 0.31 99.46 0.27 99.55 0.31 (99.40)
PEMS-SF 82.66 0.51 84.77 0.33 83.04 0.86 83.81 0.62 (82.10)
SelfRegulationSCP1 91.46 0.35 91.58 0.39 91.70 0.39 92.04 0.36 (92.50)
SelfRegulationSCP2 54.72 0.74 56.11 0.71 55.93 0.85 57.04 0.82 (53.90)
SpokenArabicDigits 99.33 0.02 99.23 0.09 99.34 0.11 99.42 0.28 (99.30)
UWaveGestureLibrary 84.45 0.72 86.46 0.81 86.77 0.78 87.60 0.67 (85.60)
Average 72.07 0.47 72.89 0.09 72.82 0.12 73.22 0.33 (72.27)
""")

TABLE_2 = parse("""
ListOps 36.76 0.42 37.32 0.06 37.08 0.48 37.33 0.53
Text 64.90 0.07 65.07 0.08 65.19 0.19 65.03 0.35
Retrieval 79.68 0.52 81.05 0.08 80.74 0.32 81.20 0.11
Image 39.23 1.35 39.75 1.21 38.87 1.24 39.18 1.27
Pathfinder 72.72 0.75 73.24 0.67 74.00 0.29 73.98 0.55
Average 58.66 0.26 59.28 0.25 59.18 0.22 59.35 0.29
""")

TABLE_3 = parse("""
Top-1 72.23 0.23 72.79 0.21 72.08 0.23 72.25 0.22
Top-5 91.13 0.15 91.43 0.12 91.05 0.14 91.14 0.12
""")

TABLE_4 = parse("""
Mean 2.01 2.45 3.81 3.19
Std 0.39 0.66 0.75 1.01
""")

TABLE_5 = parse("""
EthanolConcentration 33.84 0.66 34.98 0.74 34.76 0.69 34.35 0.70
FaceDetection 69.17 0.32 69.22 0.17 69.38 0.17 69.12 0.19
HandWriting 32.87 0.27 32.86 0.49 32.82 0.12 32.98 0.36
HeartBeat 75.61 0.73 75.78 0.71 74.96 0.62 75.94 0.68
JapaneseVowels 99.37 0.16 99.60 0.19 99.28 0.41 99.33 0.19
PEMS-SF 83.43 0.88 85.74 0.67 86.51 0.88 84.97 0.76
SelfRegulationSCP1 90.90 0.40 91.81 0.69 90.76 0.59 91.92 0.60
SelfRegulationSCP2 55.18 0.89 56.11 0.94 54.44 0.88 55.74 0.92
SpokenArabicDigits 99.07 0.10 99.01 0.07 99.03 0.18 98.91 0.17
UWaveGestureLibrary 85.63 0.81 86.04 0.86 84.89 1.00 85.78 0.75
Average 72.51 0.34 73.12 0.20 72.68 0.40 72.90 0.23
""")

TABLE_6 = parse("""
Top-1 72.23 0.23 73.18 0.24
Top-5 91.13 0.15 91.52 0.13
""")

TABLE_7 = parse("""
ListOps 36.76 0.42 37.20 0.05
Text 64.90 0.07 64.92 0.44
Retrieval 79.68 0.52 80.75 0.15
Image 39.23 1.35 39.18 0.59
Pathfinder 72.72 0.75 73.01 0.24
Average 58.66 0.26 59.01 0.20
""")

TABLE_8 = parse("""
AppliancesEnergy 3.44 0.06 3.38 0.34 3.39 0.02 3.37 0.23
BenzeneConcentration 0.91 0.03 0.89 0.17 1.00 0.09 0.90 0.08
BeijingPM10 92.31 1.06 92.00 0.89 92.82 0.92 92.40 0.85
BeijingPM25 59.73 1.21 59.55 0.92 59.66 0.88 59.24 1.22
LiveFuelMoisture 43.08 0.17 43.01 0.50 43.65 0.09 43.79 0.49
IEEEPPG 32.12 1.25 30.69 0.64 31.38 1.02 30.73 1.20
Average 38.60 0.67 38.25 0.30 38.65 0.27 38.40 0.51
""")

TABLE_9 = parse("""
ArticularyWordRecognition 97.44 0.42 98.22 0.87 97.22 0.95 98.44 0.41
BasicMotions 98.75 1.25 99.38 1.08 99.37 1.06 99.78 0.51
Epilepsy 93.71 1.23 92.27 0.74 89.13 1.07 92.02 1.02
ERing 95.18 0.52 95.18 0.37 94.72 0.66 95.46 0.40
FingerMovements 59.67 0.47 63.00 0.41 61.33 0.70 63.66 0.64
Libras 85.00 0.45 85.37 0.69 83.88 0.45 85.00 0.78
NATOPS 95.00 0.45 95.37 0.26 96.29 0.69 95.74 0.94
RacketSports 87.28 0.82 87.93 0.31 88.16 0.54 89.03 0.64
AtrialFibrillation 33.33 2.71 41.67 2.88 35.00 2.89 41.68 2.80
Cricket 94.90 0.65 95.37 0.65 93.98 0.65 96.29 0.65
StandWalkJump 50.00 2.33 55.55 2.14 50.01 2.34 55.00 2.08
HandMovementDirection 63.96 2.30 64.41 2.76 61.71 2.64 66.66 2.54
LSST 58.54 0.54 57.05 0.26 60.34 0.73 59.91 0.34
DuckDuckGeese 64.50 1.96 65.00 1.73 64.50 1.95 65.50 1.66
MotorImagery 58.66 1.25 60.67 1.69 59.00 1.41 62.00 0.81
Average 75.73 0.51 77.10 0.22 75.61 0.18 77.74 0.24
""")

TABLE_10 = parse("""
EthanolConcentration 33.33 1.23 33.33 0.78 32.50 0.57 33.46 0.71
FaceDetection 68.58 0.95 68.65 0.44 68.67 0.78 68.44 0.51
HandWriting 31.08 0.38 31.79 0.44 32.75 0.39 33.37 0.61
HeartBeat 74.95 0.81 75.98 0.72 74.96 0.80 76.09 0.75
JapaneseVowels 99.45 0.10 99.54 0.12 99.18 0.14 99.36 0.34
PEMS-SF 82.08 0.63 83.81 0.47 82.66 0.63 84.01 0.89
SelfRegulationSCP1 91.24 0.85 91.69 0.42 91.47 0.84 91.70 0.16
SelfRegulationSCP2 55.18 0.69 58.52 0.71 55.92 0.94 56.67 0.68
SpokenArabicDigits 99.04 0.06 99.10 0.15 99.06 0.13 99.15 0.09
UWaveGestureLibrary 84.90 0.39 85.73 0.38 85.31 0.88 86.56 0.25
Average 71.98 0.38 72.81 0.15 72.25 0.24 72.88 0.35
""")

TABLE_11 = parse("""
BN-learned 80.77 0.23
BN+SH-learned 81.31 0.25
BN-fixed 81.05 0.08
BN+SH-fixed 81.20 0.11
""")

TABLE_12 = parse("""
EthanolConcentration 0.15 0.95 0.8 0.2
FaceDetection 0.6 0.6 0.6 0.6
HandWriting 0.25 0.3 0.3 0.3
HeartBeat 0.6 0.15 0.4 0.5
JapaneseVowels 0.6 0.6 0.6 0.6
PEMS-SF 0.35 0.65 0.5 0.6
SelfRegulationSCP1 0.35 0.25 0.1 0.9
SelfRegulationSCP2 0.75 0.15 0.5 0.3
SpokenArabicDigits 0.6 0.6 0.6 0.6
UWaveGestureLibrary 0.65 0.55 0.9 0.3
""")

TABLE_13 = parse("""
EthanolConcentration 0.25 0.15
FaceDetection 0.6 0.6
HandWriting 0.65 0.25
HeartBeat 0.55 0.85
JapaneseVowels 0.6 0.6
PEMS-SF 0.25 0.35
SelfRegulationSCP1 0.5 0.85
SelfRegulationSCP2 1.2 0.9
SpokenArabicDigits 0.65 0.6
UWaveGestureLibrary 0.1 0.2
ArticularyWordRecognition 0.2 0.6
BasicMotions 0.1 0.1
Epilepsy 0.3 0.2
ERing 0.1 0.9
FingerMovements 1.0 0.3
Libras 0.3 0.7
NATOPS 1.0 0.4
RacketSports 1.0 0.4
AtrialFibrillation 0.9 0.6
Cricket 0.2 1.0
StandWalkJump 1.0 0.6
HandMovementDirection 0.5 0.5
LSST 0.3 0.2
DuckDuckGeese 0.6 0.3
MotorImagery 0.2 0.3
AppliancesEnergy 0.4 0.2
BenzeneConcentration 0.2 0.1
BeijingPM10 0.1 0.5
BeijingPM25 0.1 0.2
LiveFuelMoisture 0.1 0.3
IEEEPPG 0.4 0.2
""")

TABLE_14 = parse("""
ListOps 0.5 0.2
Text 0.5 0.8
Retrieval 1.0 1.0
Image 0.2 0.2
Pathfinder 0.2 0.4
""")

LRA_LENGTHS = {"ListOps": 2_000, "Text": 4_000, "Retrieval": 4_000, "Image": 1_000, "Pathfinder": 1_000}
"""Lengths of the tasks of the Long Range Arena as Appendix A.2 prints them: 2K, 4K, 4K, 1K and 1K."""
