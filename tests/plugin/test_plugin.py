from __future__ import annotations

import pytest

from tests.campaign.texts import put

# Runs are processes of their own: pytester forgets modules that a run within this process imported, and
# lemmax, half forgotten, would be imported twice.

pytest_plugins = ["pytester"]

QUICK = ("-p", "no:cacheprovider", "--lemmax-instances=12")


def test_theorem_and_mutants_are_items(pytester: pytest.Pytester) -> None:
    put(pytester.path / "proofs", "triangle_inequality_of_vectors", "additive_norm_of_vectors")
    (pytester.path / "proofs" / "_template.py").write_text("THEOREM = 1 / 0\n")
    (pytester.path / "proofs" / "helper.py").write_text("raise SystemExit\n")
    result = pytester.runpytest_subprocess("proofs", "-v", *QUICK)
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        [
            "proofs/additive_norm_of_vectors.py::additive_norm_of_vectors PASSED*",
            "proofs/triangle_inequality_of_vectors.py::triangle_inequality_of_vectors PASSED*",
            "proofs/triangle_inequality_of_vectors.py::mutant: reversed PASSED*",
        ]
    )


def test_failures_show_the_report_and_no_traceback(pytester: pytest.Pytester) -> None:
    put(pytester.path, "wrong_norm_of_vectors", "surviving_mutant_of_vectors", "vacuous_claim_of_vectors")
    result = pytester.runpytest_subprocess(*QUICK)
    result.assert_outcomes(failed=6, passed=6)
    text = result.stdout.str()
    assert "refuted (tested), NOT as expected" in text and "reproduce:" in text
    assert "mutant 'difference' survived" in text
    assert "vacuous (tested), NOT as expected" in text
    assert "plugin.py" not in text and "Traceback" not in text


def test_file_that_cannot_be_loaded(pytester: pytest.Pytester) -> None:
    (pytester.path / "broken_of_tests.py").write_text("import lemmax as lx\nTHEOREM = lx.Theorem(1)\n")
    result = pytester.runpytest_subprocess(*QUICK)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*broken_of_tests.py, line 2: TypeError*"])
    assert "plugin.py" not in result.stdout.str()


def test_options(pytester: pytest.Pytester) -> None:
    put(pytester.path, "wrong_norm_of_vectors")
    one, again, other = (
        pytester.runpytest_subprocess(*QUICK, f"--lemmax-seed={seed}").stdout.str() for seed in (1, 1, 2)
    )
    assert "seed 1;" in one and "seed 2;" in other
    witness = "recipe:"
    assert [x for x in one.splitlines() if witness in x] == [x for x in again.splitlines() if witness in x]
    for wrong in ("--lemmax-instances=0", "--lemmax-seed=x"):
        result = pytester.runpytest_subprocess(wrong)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "Traceback" not in result.stderr.str()


def test_nothing_heavy_is_imported_without_theorem_files(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_other="""
        import sys

        def test_imports():
            assert "lemmax.pytest_plugin" in sys.modules
            assert not {"sympy", "numpy", "lemmax.statement"} & set(sys.modules)

        text = '''
        THEOREM = None
        '''
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
