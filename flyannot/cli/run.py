"""flyannot run: the whole chain, from a configuration file."""

import os
import shlex
from importlib import import_module

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FOLDER, Command, log

_FORCED = ("extract", "learn-dict", "pool", "train", "annotate")  # the run owns its folder


@click.command("run", cls=Command)
@click.argument("config", type=IN_FILE)
@click.option("--data-set", type=click.Path(file_okay=False), help="The data set folder, over the file's.")
@click.option("-o", "--output", type=OUT_FOLDER, help="The folder of all results, over the file's.")
@click.option(
    "--set", "settings", multiple=True, metavar="STEP.OPTION=VALUE", help="Override one value (repeatable)."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done, and why.")
def command(config, data_set, output, settings, dry_run):
    """Run the whole chain: extract, learn-dict, pool, train, annotate, evaluate, report.

    CONFIG is a TOML file: data-set, output, seed, and one table per command with the values of its
    options. What is up to date is skipped; every file knows what it was made from. Values given by
    --set come before FLYANNOT_... in the environment, and these before the file.

    \b
    Example:
        flyannot run demo.toml --data-set embryos --output results --dry-run
    """
    from pathlib import Path

    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.steps.configuration import chain, read_configuration, write_record

    configuration = read_configuration(
        config, data_set=data_set and Path(data_set), output=output, settings=settings
    )
    overridden = {text.partition("=")[0].replace("_", "-") for text in settings}
    commands = [
        (one, _click_command(one.step), _words(config, one, overridden)) for one in chain(configuration)
    ]
    skipped = False
    for one, click_command, words in commands:
        if one.step == "synthesize" and (configuration.data_set / "images.csv").exists():
            log.info("[synthesize] %s is there", configuration.data_set)
            continue
        if one.step == "synthesize" and dry_run:
            log.info("would make %s: it is not there yet; then everything after it", configuration.data_set)
            break
        log.info("[%s] flyannot %s", one.step, shlex.join([one.step, *words]))
        if one.step == "report" and not dry_run:
            write_record(configuration)
        code = _carry_out(one, click_command, words, dry_run)
        if code == STOP:
            break
        skipped |= code == SKIPPED
    return SKIPPED if skipped else 0


STOP = -1  # a dry run cannot look past the first output that is missing or out of date


def _carry_out(one, click_command, words, dry_run):
    forced = [*words, "--force"] if one.step in _FORCED else words
    if not dry_run:
        return click_command.main(forced, f"flyannot {one.step}", standalone_mode=False,
                                  auto_envvar_prefix=_prefix(one.step)) or 0  # fmt: skip
    from flyannot.steps.output import WouldMake, dry_run_of_steps

    try:
        with dry_run_of_steps():
            click_command.main(forced, f"flyannot {one.step}", standalone_mode=False,
                               auto_envvar_prefix=_prefix(one.step))  # fmt: skip
    except WouldMake as would:
        log.info("would make %s: %s; then everything after it", would.path, would.why)
        return STOP
    return 0


def carry_out(config, one):
    """Carry out one `flyannot.steps.configuration.Command` quietly: its files, and no table."""
    from contextlib import redirect_stdout
    from io import StringIO

    click_command = _click_command(one.step)
    with redirect_stdout(StringIO()):
        return _carry_out(one, click_command, _words(config, one, set()), dry_run=False)


def _click_command(step):
    return import_module(f"flyannot.cli.{step.replace('-', '_')}").command


def _prefix(step):
    return f"FLYANNOT_{step.replace('-', '_').upper()}"


def _words(config, one, overridden):
    """The words of the command line that a configured command stands for.

    Raises
    ------
    InputError
        If the configuration gives an option that the command does not have.
    """
    from flyannot.errors import InputError, did_you_mean

    flags = {
        p.opts[-1].removeprefix("--"): p
        for p in _click_command(one.step).params
        if isinstance(p, click.Option)
    }
    words = [str(argument) for argument in one.arguments]
    for key, value in one.options.items():
        if key not in flags:
            raise InputError(f'{config}: [{one.step}] has no option "{key}".{did_you_mean(key, flags)}')
        variable = f"{_prefix(one.step)}_{flags[key].name.upper()}"
        if os.environ.get(variable) and f"{one.step}.{key}" not in overridden:
            continue  # click reads it from there
        words += _option_words(key, value, flags[key])
    return words


def _option_words(key, value, option):
    if option.is_flag:
        return [f"--{key}"] if value in (True, "true") else []
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (f"--{key}", str(one))]
