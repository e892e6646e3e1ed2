/**
 * Keeps the in-flight journal of a worker: a file that outlives the process, with a line of fixed length per started attempt, overwritten
 * after the attempt's end. A file per worker, named after the worker id, so that a supervisor learns the workers of an ended process from
 * the folder alone. Ends are not recorded: the reader asks the database for the attempts still leased by this worker.
 *
 * Invariant: a start is in the file before the handler begins, by one synchronous write that a process crash cannot tear (a line never
 * crosses a page), and stays until the attempt has ended; or there is no file. A crash of the machine may lose the line. Nothing here
 * throws: attempts run even if the journal cannot be written.
 */
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export interface InFlightJournal {
  /** Returns the line number to free after the attempt's end. */
  note(name: string): number
  free(entry: number): void
  /** This worker has no more leases. */
  close(): void
}

const prefix = 'starts.'
/** `id/attempt`: at most 19 digits, a slash and 10 digits. */
const length = 32
const blank = 0x20
const newline = 0x0a

const nowhere: InFlightJournal = { note: () => -1, free() {}, close() {} }

/** Without a folder there is no reader, and nothing is written. */
export function openInFlightJournal(folder: string | undefined, worker: string): InFlightJournal {
  if (folder === undefined) return nowhere
  const path = join(folder, prefix + worker)
  const file = opened(path)
  if (file === undefined) return nowhere
  const line = Buffer.alloc(length, blank)
  line[length - 1] = newline
  const unused: number[] = []
  let entries = 0
  let open = true
  return {
    note(name) {
      const entry = unused.pop() ?? entries++
      line.fill(blank, 0, length - 1)
      line.write(name, 0, 'latin1')
      try {
        if (open) writeSync(file, line, 0, length, entry * length)
      } catch {
        // The disk is full. A journal without this attempt would claim that the attempt never started: without a file the watchdog finds
        // all orphans.
        remove(path)
      }
      return entry
    },
    free: entry => void unused.push(entry),
    close() {
      if (!open) return
      open = false
      try {
        closeSync(file)
      } catch {
        // A faulty disk. The attempts have ended all the same.
      }
      remove(path)
    },
  }
}

/** A disk that does not let the journal be removed must not end an attempt. */
function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The reader finds attempts that have ended: recovery compares each with the row of the job.
  }
}

function opened(path: string): number | undefined {
  try {
    return openSync(path, 'w', 0o600)
  } catch {
    return undefined
  }
}

/** Worker id to attempts possibly in flight, as `id/attempt`, for every worker that did not stop in order. */
export function readInFlightJournal(folder: string): Map<string, string[]> {
  if (!existsSync(folder)) return new Map()
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    each => each.isFile() && each.name.startsWith(prefix),
  )
  return new Map(
    files.map(({ name }) => [name.slice(prefix.length), linesOf(readFileSync(join(folder, name), 'latin1'))]),
  )
}

const linesOf = (text: string): string[] => text.split('\n').flatMap(line => line.trim() || [])
