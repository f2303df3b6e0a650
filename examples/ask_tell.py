"""Ask for points and tell outcomes, when the loop is yours: a lab, a queue, a GUI.

The optimizer is saved as JSON between two sessions and continues where it was.
"""

import json

import wideopt as wo


def experiment(recipe):
    """Stand in for an hour in the laboratory."""
    return (recipe["pH"] - 6.2) ** 2 + 0.01 * abs(recipe["minutes"] - 40)


if __name__ == "__main__":
    space = {"pH": wo.Real(4, 9), "minutes": wo.Integer(5, 120)}
    optimizer = wo.Optimizer(space, seed=0)

    # What was tried before there was an optimizer is welcome.
    known = {"pH": 7.0, "minutes": 30}
    optimizer.tell(known, experiment(known))

    for recipe in optimizer.ask(4):  # a batch of four
        optimizer.tell(recipe, experiment(recipe))
    saved = json.dumps(optimizer.state_dict())

    # The next day.
    optimizer = wo.Optimizer.from_state_dict(json.loads(saved))
    for _ in range(5):
        recipe = optimizer.ask()
        if recipe["minutes"] > 110:  # the kettle boils dry
            optimizer.tell_failed(recipe)
        else:
            optimizer.tell(recipe, experiment(recipe))
    print(optimizer.best)
