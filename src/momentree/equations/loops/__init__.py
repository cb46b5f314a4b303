"""Closed loops: constraint rows, closure errors, wrenches and their elimination on the inward pass, on any scalar.

| file                   | what it holds                                                             |
|------------------------|---------------------------------------------------------------------------|
| records.py             | records of constraints and elimination nodes, linked with those of bodies |
| closing_joint.py       | where a closing joint is, how it moves, its coordinates                   |
| residual.py            | closure errors                                                            |
| constraint_rows.py     | rows as wrenches on the bodies at the ends; biases                        |
| wrenches.py            | wrenches of loops on bodies                                               |
| elimination.py         | the inward and outward steps that solve for Lagrange multipliers          |
| constraint_jacobian.py | the constraint Jacobian J, row by row                                     |
| closing_step.py        | steps of Newton's method that close loops; impulses of loops              |
| programme_bias.py      | stabilization as a programme: the energy of a deviation decays            |

A constraint is a record. It has ends, numbered from 0, each at a body; a loop that a joint closes has two, of which
end 0 is at the joint's first body. Its rows, the scalar constraints, are wrenches on the bodies at the ends. O is the
origin of the second frame of a closing joint.
The fields of the records are declared in equations/fields.py.
"""
