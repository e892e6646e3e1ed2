/**
 * Puts the number of a worker process into every line of its output, so that the lines of several processes make one log: a field
 * `process` in a JSON object, `[2] ` before any other line. Lines of two processes never mix: a line is passed on when the line is complete.
 */
const newline = 0x0a
/** A longer line is passed on in parts. */
const longestLine = 65_536

export interface NamedLines {
  add(chunk: Buffer): void
  /** Passes on the last line, without its newline. */
  end(): void
}

export function nameLines(process: number, write: (text: Buffer) => void): NamedLines {
  let rest: Buffer = Buffer.alloc(0)
  /** The begin of this line was passed on. */
  let inLine = false
  const named = (line: Buffer): Buffer[] => {
    if (inLine) return [line]
    const isObject = line.length > 2 && line[0] === 0x7b && line[1] === 0x22 && line.at(-1) === 0x7d
    return isObject ? [Buffer.from(`{"process":${process},`), line.subarray(1)] : [Buffer.from(`[${process}] `), line]
  }
  return {
    add(chunk) {
      const parts: Buffer[] = []
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
        parts.push(...named(rest.subarray(0, end)), rest.subarray(end, end + 1))
        rest = rest.subarray(end + 1)
        inLine = false
      }
      if (rest.length > longestLine) {
        parts.push(...named(rest))
        rest = Buffer.alloc(0)
        inLine = true
      }
      if (parts.length > 0) write(Buffer.concat(parts))
    },
    end() {
      if (rest.length > 0 || inLine) write(Buffer.concat([...named(rest), Buffer.from('\n')]))
      rest = Buffer.alloc(0)
      inLine = false
    },
  }
}
