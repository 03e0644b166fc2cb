// What a golden test is.

/** Whether a text begins with directives, `#! check`; comments and the line of annotations may precede them. */
export function isTest(start: string): boolean {
  for (const line of start.split("\n")) {
    if (line.startsWith("#!")) {
      return true;
    }
    if (line.trim() !== "" && !line.startsWith("#")) {
      return false;
    }
  }
  return false;
}
