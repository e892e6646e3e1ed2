/** `batch show --watch` on a virtual clock and a terminal of the test: the screen after each poll. */
import { expect, test } from 'vitest'
import { drawnOn, printedBy, watchBatch } from '../../src/cli/commands/batch/batch-watch.ts'
import { messagesIn } from '../../src/cli/messages/index.ts'
import type { Output } from '../../src/cli/output.ts'
import { localized, RetomaError } from '../../src/errors/errors.ts'
import { type BatchView, seconds } from '../../src/index.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { seenOn } from '../support/terminal.ts'

const start = new Date('2030-01-01T12:00:00Z')
const running: BatchView = {
  id: '7',
  name: 'classification',
  key: null,
  kind: 'classify',
  queue: 'q',
  state: 'running',
  reason: null,
  priority: 4,
  total: 2000,
  waiting: 990,
  running: 10,
  stalled: 0,
  succeeded: 980,
  failed: 20,
  skipped: 0,
  cancelled: 0,
  percent: 50,
  rate: 41.34,
  etaSeconds: 24,
  progressAt: new Date(start.getTime() - 3000),
  lastRef: 'A-1000',
  cost: [],
  resumes: 0,
  maxResumes: 3,
  itemsReceived: 2000,
  following: false,
  completeJob: null,
  createdAt: start,
  submittedAt: start,
  finishedAt: null,
}
const over: BatchView = { ...running, state: 'succeeded', succeeded: 1980, waiting: 0, running: 0, percent: 100 }
const gone = new RetomaError('database_unreachable', {
  address: 'db:5432/x',
  problem: 'off',
  outcome: localized('nothing was written', 'nada foi gravado'),
})

/** Says everything into two lists. */
function voiceOf({ language = 'en' as 'en' | 'pt', json = false } = {}) {
  const out: string[] = []
  const notes: string[] = []
  const output: Output = {
    language,
    json,
    word: messagesIn[language],
    answer: (wire, lines) => void out.push(...(json ? [JSON.stringify(wire)] : lines)),
    say: line => void (json || out.push(line)),
    note: line => void notes.push(line),
    complain: error => void notes.push(error.message),
  }
  return { voice: output, out, notes }
}

/** A watch that reads these batches, one a second; the last batch repeats. */
function watching(found: (BatchView | Error)[], options: { columns?: number; rows?: number; pipe?: Output } = {}) {
  const clock = new VirtualClock(start)
  const asking = new AbortController()
  let written = ''
  const { columns = 80, rows = 24 } = options
  const terminal = { columns, rows, write: (text: string) => (written = `${written}${text}`) }
  const display = options.pipe ? printedBy(options.pipe) : drawnOn(terminal, voiceOf().voice)
  let checks = 0
  const ended = watchBatch({
    read: async () => {
      const next = found[Math.min(checks++, found.length - 1)]!
      if (next instanceof Error) throw next
      return next
    },
    display,
    clock,
    asked: asking.signal,
  })
  return {
    ended,
    ask: () => asking.abort(),
    pass: (n: number) => clock.advance(seconds(n)),
    seen: () => seenOn(written, { columns, rows }),
    over: () => display.over(),
    get checks() {
      return checks
    },
  }
}

test('a batch is drawn with its bar, counts, rate and time left, and again in the same place', async () => {
  const watch = watching([
    running,
    { ...running, waiting: 490, succeeded: 1480, percent: 75, rate: null, etaSeconds: null },
  ])
  await watch.pass(0)
  expect(watch.seen().lines).toEqual([
    'batch 7 (classification): running',
    '[████████████████████░░░░░░░░░░░░░░░░░░░░]  50.0 %  1,000 of 2,000',
    '980 succeeded, 20 failed, 10 running, 990 waiting',
    '41.3 items/s, about 24 s left; last item A-1000, 3 sec. ago',
    'Ctrl-C stops the watching, not the batch',
  ])
  await watch.pass(1)
  const { lines, frames, cursor, usual } = watch.seen()
  expect(frames).toHaveLength(2)
  expect(lines).toEqual([
    'batch 7 (classification): running',
    '[██████████████████████████████░░░░░░░░░░]  75.0 %  1,500 of 2,000',
    '1,480 succeeded, 20 failed, 10 running, 490 waiting',
    'last item A-1000, 4 sec. ago',
    'Ctrl-C stops the watching, not the batch',
  ])
  expect({ cursor, usual }).toEqual({ cursor: { row: 5, column: 0 }, usual: true })
  watch.ask()
  await watch.ended
})

test.each([
  ['succeeded', over],
  ['failed', { ...over, state: 'failed' as const }],
  ['cancelled', { ...over, state: 'cancelled' as const, following: true }],
  ['stalled', { ...running, state: 'stalled' as const }],
])('it ends by itself when the batch is %s, and leaves the place to the answer', async (_, last) => {
  const watch = watching([running, last])
  await watch.pass(1)
  expect(await watch.ended).toBe(last)
  watch.over()
  expect(watch.seen()).toMatchObject({ lines: [], cursor: { row: 0, column: 0 }, usual: true })
})

test('a paused batch is watched on, with the action to run', async () => {
  const reason = { code: 'stop_after', failed: 100, ended: 1000 }
  const paused: BatchView = { ...running, state: 'paused', reason, rate: null, etaSeconds: null }
  const watch = watching([...Array(61).fill(paused), running])
  await watch.pass(60)
  expect(watch.checks).toBe(61)
  expect(watch.seen().lines).toEqual([
    'batch 7 (classification): paused by its stopAfter: 100 of the 1,000 items that',
    'ended had failed',
    expect.stringContaining('50.0 %'),
    '980 succeeded, 20 failed, 10 running, 990 waiting',
    'last item A-1000, 1 min. ago',
    'it is paused; go on: retoma batch resume 7',
    'Ctrl-C stops the watching, not the batch',
  ])
  await watch.pass(1)
  expect(watch.seen().lines).toHaveLength(5)
  watch.ask()
  await watch.ended
})

test('asked to stop, it draws nothing more and leaves whole lines and a usual terminal', async () => {
  const watch = watching([running])
  await watch.pass(2)
  const before = watch.seen()
  watch.ask()
  expect(await watch.ended).toBeUndefined()
  expect(watch.seen()).toMatchObject({
    lines: before.lines,
    frames: before.frames,
    cursor: { row: 5, column: 0 },
    usual: true,
  })
})

test('a database that goes away is reported beside what was last seen, and the watch goes on when it is back', async () => {
  const watch = watching([running, ...Array(75).fill(gone), running, over])
  await watch.pass(75)
  const { lines } = watch.seen()
  expect(lines[1]).toContain('50.0 %')
  // The line is wider than the terminal.
  expect(lines.slice(-2)).toEqual([
    'trying again for 1 min 14 s: the database at db:5432/x does not answer: off;',
    'nothing was written',
  ])
  await watch.pass(1)
  expect(watch.seen().lines.at(-1)).toBe('Ctrl-C stops the watching, not the batch')
  await watch.pass(1)
  expect(await watch.ended).toBe(over)
})

test('a database that has no connection left is waited for as well; a batch that is gone is not', async () => {
  const full = Object.assign(new Error('too many clients'), { code: '53300' })
  const watch = watching([running, full, new RetomaError('not_found', { what: 'batch', id: '7' })])
  const refused = expect(watch.ended).rejects.toMatchObject({ code: 'not_found' })
  await watch.pass(2)
  await refused
})

test('on a small terminal lines are cut, not wrapped, and only what fits is drawn', async () => {
  const watch = watching([running], { columns: 40, rows: 4 })
  await watch.pass(3)
  const { lines, frames } = watch.seen()
  expect(frames).toHaveLength(4)
  expect(lines).toEqual([
    'batch 7 (classification): running',
    '[█████░░░░░]  50.0 %  1,000 of 2,000',
    '980 succeeded, 20 failed, 10 running, …',
  ])
  watch.ask()
  await watch.ended
})

test('what a ref holds cannot steer the terminal', async () => {
  const watch = watching([{ ...running, lastRef: 'a\u001b[2Jb\tc' }])
  await watch.pass(0)
  expect(watch.seen().lines[3]).toBe('41.3 items/s, about 24 s left; last item a\\x1b[2Jb c, 3 sec. ago')
  watch.ask()
  await watch.ended
})

test('into a pipe it says a line for each change, and nothing where nothing changed', async () => {
  const { voice: output, out, notes } = voiceOf({ language: 'pt' })
  const watch = watching([running, running, gone, gone, { ...running, running: 11, waiting: 989 }, over], {
    pipe: output,
  })
  await watch.pass(5)
  expect(await watch.ended).toBe(over)
  expect(out.map(line => line.slice('2030-01-01 12:00:00'.length))).toEqual([
    '  running  50,0 %  980 concluídos, 20 com erro, 10 em execução, 990 em espera  41,3 itens/s, falta cerca de 24 s',
    '  running  50,0 %  980 concluídos, 20 com erro, 11 em execução, 989 em espera  41,3 itens/s, falta cerca de 24 s',
  ])
  expect(notes).toEqual([
    'o banco de dados em db:5432/x não responde: off; nada foi gravado; tentando de novo',
    'o banco de dados voltou a responder',
  ])
})

test('with --json a change is a document', async () => {
  const { voice: output, out } = voiceOf({ json: true })
  const watch = watching([running, running, over], { pipe: output })
  await watch.pass(2)
  await watch.ended
  expect(out.map(line => JSON.parse(line))).toMatchObject([
    { id: '7', state: 'running', eta_seconds: 24, last_ref: 'A-1000' },
  ])
})
