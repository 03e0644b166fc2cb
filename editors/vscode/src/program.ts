// Where the program is: the setting, a Python environment of the folder, or the PATH.

import * as fs from "fs";
import * as path from "path";

export interface Places {
  /** The setting, or "". */
  setting: string;
  /** The interpreter of the selected Python environment, if it is known. */
  python?: string | undefined;
  /** Folders of the workspace, if they are trusted. */
  folders: readonly string[];
  /** The variable PATH. */
  path: string;
  platform: NodeJS.Platform;
}

/** Files that may be the program, in the order of preference. */
export function candidates(places: Places): string[] {
  if (places.setting !== "") {
    return [places.setting];
  }
  const isWindows = places.platform === "win32";
  const name = isWindows ? "onnxtxt.exe" : "onnxtxt";
  const scripts = isWindows ? "Scripts" : "bin";
  const found: string[] = [];
  if (places.python !== undefined) {
    found.push(path.join(path.dirname(places.python), name));
  }
  for (const folder of places.folders) {
    found.push(path.join(folder, ".venv", scripts, name), path.join(folder, "venv", scripts, name));
  }
  const entries = places.path.split(isWindows ? ";" : ":").filter((entry) => path.isAbsolute(entry));
  return found.concat(entries.map((entry) => path.join(entry, name)));
}

/** The program, if there is one. */
export function find(places: Places, exists: (file: string) => boolean = isFile): string | undefined {
  return candidates(places).find(exists);
}

function isFile(file: string): boolean {
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
