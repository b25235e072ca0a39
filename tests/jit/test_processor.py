import pytest

from cc_env.jit import processor


@pytest.mark.parametrize(
    ("has_matrix_units", "features", "expected"),
    [
        (True, {"+avx2", "+avx512vnni"}, "Model 1, AMX"),
        (False, {"+avx2", "+avx512vnni"}, "Model 1, AVX512-VNNI"),
        (False, {"+avx2", "+avxvnni"}, "Model 1, AVX-VNNI"),
        (False, {"+avx2"}, "Model 1, AVX2"),
        (False, {"+dotprod"}, "Model 1, dot products"),
        (False, set(), "Model 1"),
    ],
)
def test_description_names_the_fastest_instructions(
    monkeypatch, has_matrix_units, features, expected
):
    monkeypatch.setattr(processor, "processor_name", lambda: "Model 1")
    monkeypatch.setattr(processor, "request_matrix_units", lambda: has_matrix_units)
    monkeypatch.setattr(processor, "FEATURES", features)
    assert processor.describe_processor() == expected


def test_name_is_read_from_the_system_or_python(monkeypatch, tmp_path):
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(processor, "Path", lambda name: info)
    monkeypatch.setattr(processor.platform, "processor", lambda: "arm")
    assert processor.processor_name() == "arm"
    info.write_text("processor\t: 0\nmodel name\t: Model 1\nmodel name\t: Model 1\n")
    assert processor.processor_name() == "Model 1"
