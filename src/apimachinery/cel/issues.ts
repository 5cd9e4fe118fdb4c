/**
 * What is wrong with an expression, and the text that says so: a line per issue, the source's line, and a caret under the place.
 *
 *     ERROR: <input>:1:8: undeclared reference to 'x' (in container '')
 *      | self + x
 *      | .......^
 */

/** Counts from 1 for lines and from 0 for columns, in code points; line -1 is nowhere. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

export interface Issue {
  readonly location: Location;
  readonly message: string;
}

const nowhere: Location = { line: -1, column: -1 };

/** More are only counted. */
const reportedLimit = 100;

/** Longer lines are not shown. */
const snippetLimit = 16_384;

/** An expression's text, addressed by code points. */
export class Source {
  readonly text: string;
  readonly codePoints: readonly string[];
  readonly #lineStarts: readonly number[];

  constructor(text: string) {
    this.text = text;
    this.codePoints = Array.from(text);
    const starts = [0];
    this.codePoints.forEach((char, index) => {
      if (char === '\n') starts.push(index + 1);
    });
    this.#lineStarts = starts;
  }

  locate(offset: number): Location {
    let line = this.#lineStarts.length;
    while (line > 1 && this.#lineStarts[line - 1]! > offset) line--;
    return { line, column: offset - this.#lineStarts[line - 1]! };
  }

  line(number: number): readonly string[] | undefined {
    const start = this.#lineStarts[number - 1];
    if (start === undefined || this.codePoints.length === 0) return undefined;
    const next = this.#lineStarts[number];
    return this.codePoints.slice(start, next === undefined ? undefined : next - 1);
  }
}

/** Collects the issues of one expression. */
export class Issues {
  readonly #source: Source;
  readonly #issues: Issue[] = [];
  #count = 0;

  constructor(source: Source) {
    this.#source = source;
  }

  get count(): number {
    return this.#count;
  }

  report(offset: number, message: string): void {
    this.reportAt(this.#source.locate(offset), message);
  }

  /** For what concerns the expression as a whole. */
  reportNowhere(message: string): void {
    this.reportAt(nowhere, message);
  }

  reportAt(location: Location, message: string): void {
    this.#count++;
    if (this.#count <= reportedLimit) this.#issues.push({ location, message });
  }

  /** In order of place. */
  list(): readonly Issue[] {
    return this.#issues.toSorted((a, b) => a.location.line - b.location.line || a.location.column - b.location.column);
  }

  toString(): string {
    const lines = this.list().map((issue) => this.#display(issue));
    if (this.#count > reportedLimit) lines.push(`${this.#count - reportedLimit} more errors were truncated`);
    return lines.join('\n');
  }

  #display({ location, message }: Issue): string {
    const head = `ERROR: <input>:${location.line}:${location.column + 1}: ${message}`;
    const line = this.#source.line(location.line)?.map((char) => (char === '\t' ? ' ' : char));
    if (!line || Buffer.byteLength(line.join('')) > snippetLimit) return head;
    const isWide = (char: string | undefined) => char !== undefined && char.codePointAt(0)! > 0x7f;
    const dots = line.slice(0, location.column).map((char) => (isWide(char) ? '\uff0e' : '.'));
    return `${head}\n | ${line.join('')}\n | ${dots.join('')}${isWide(line[location.column]) ? '\uff3e' : '^'}`;
  }
}
