"""`init` tells Syncthing to leave temporary files out, and takes nothing away from what a person has written."""

from pathlib import Path

from relay import create_link


def test_a_new_link_has_its_temporary_files_left_out(tmp_path: Path) -> None:
    create_link(tmp_path / "main", "main")
    assert (tmp_path / "main" / ".stignore").read_text(encoding="utf-8") == "/to-*/.tmp\n"
    assert [path.name for path in tmp_path.iterdir()] == ["main"], "no other folder is touched where nothing is synced"


def test_the_folder_that_syncthing_keeps_in_step_learns_it_once_and_keeps_its_own_lines(tmp_path: Path) -> None:
    (tmp_path / ".stfolder").mkdir()
    ignore = tmp_path / ".stignore"
    ignore.write_text("*.iso\n!/kept", encoding="utf-8")
    create_link(tmp_path / "main", "main")
    create_link(tmp_path / "other", "other")
    assert ignore.read_text(encoding="utf-8") == "*.iso\n!/kept\n/main/to-*/.tmp\n/other/to-*/.tmp\n"
    (tmp_path / "main" / "link.json").unlink()
    create_link(tmp_path / "main", "main")
    assert ignore.read_text(encoding="utf-8").count("/main/to-*/.tmp") == 1


def test_a_list_that_cannot_be_written_hinders_no_link(tmp_path: Path) -> None:
    (tmp_path / ".stfolder").mkdir()
    (tmp_path / ".stignore").mkdir()
    assert create_link(tmp_path / "main", "main").name == "main"
