/** Formats an explanation for a person: the sentence, the few facts that help to act, then the advice and the command. */

import type { Explanation } from '../../index.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import type { Output } from '../output.ts'
import { page } from './batch-lines.ts'
import { evidenceLines } from './crash-evidence-lines.ts'
import { ago } from './relative-time.ts'
import { brief, fields, wrap } from './text-table.ts'

/** The facts shown here. */
interface Shown {
  now: string
  workerId?: string | null
  worker?: Worker | null
  runners?: { id: string; items: number; worker: Worker | null }[]
  hung?: Worker[]
  lastFailure?: Failure | null
}

interface Worker {
  id: string
  host: string
  pid: number
  heartbeatAt: string
  deadAt: string | null
  blockedSince: string | null
  stack: string | null
  crashReport: { why: string } | null
}

interface Failure {
  attempt: number
  type: string
  message: string
  at: string
  evidence: Record<string, unknown> | null
}

/** A number stays with its unit. */
export const sentenceLines = (sentence: string, room = page): string[] =>
  wrap(sentence.replaceAll(/(\d) (?=(?:s|min|h|d)\b)/g, '$1\u00a0'), room)

type Pair = readonly [label: string, value: string]

/** The width beside the longest label. */
const room = page - 16
const mostStack = 8
const mostRunners = 3
/** With these verdicts an earlier failure is irrelevant. */
const noFailure = ['ok', 'skipped', 'cancelled']

export function explanationLines({ verdict, sentence, advice, facts }: Explanation, output: Output): string[] {
  const { word } = output
  const shown = facts as unknown as Shown
  const pairs = [...workerPairs(shown, output), ...(noFailure.includes(verdict) ? [] : failurePairs(shown, output))]
  return [
    ...sentenceLines(sentence),
    ...(pairs.length === 0 ? [] : ['', ...fields(pairs).map(line => `  ${line}`)]),
    '',
    ...wrap(`${word.explain.todo}: ${advice.text}`, page),
    ...(advice.command === null ? [] : [`  ${advice.command}`]),
  ]
}

function workerPairs(shown: Shown, output: Output): Pair[] {
  const { explain } = output.word
  const one = shown.worker ?? undefined
  if (one !== undefined) return ofWorker(one, shown, output)
  if (shown.workerId) return [[explain.worker, explain.workerGone(shown.workerId)]]
  const troubled = (shown.runners ?? []).filter(({ worker }) => worker === null || inTrouble(worker))
  return [
    ...troubled
      .slice(0, mostRunners)
      .flatMap(({ id, items, worker }): Pair[] =>
        worker === null
          ? [[explain.worker, `${explain.workerGone(id)}; ${explain.items(items)}`]]
          : ofWorker(worker, shown, output, `; ${explain.items(items)}`),
      ),
    ...(shown.hung ?? []).flatMap(worker => ofWorker(worker, shown, output)),
  ]
}

const inTrouble = ({ deadAt, blockedSince }: Worker): boolean => deadAt !== null || blockedSince !== null

function ofWorker(worker: Worker, { now }: Shown, { word: { explain }, language }: Output, more = ''): Pair[] {
  const heartbeatAgo = ago(new Date(worker.heartbeatAt), new Date(now), language)
  const lines: Pair[] = [
    [
      explain.worker,
      `${explain.workerIs(brief(worker.id, 40), brief(worker.host, 40), worker.pid, heartbeatAgo)}${more}`,
    ],
  ]
  if (worker.crashReport !== null) lines.push([explain.crashReport, brief(worker.crashReport.why, page)])
  if (worker.blockedSince !== null && worker.deadAt === null) {
    const long = spanText((new Date(now).getTime() - new Date(worker.blockedSince).getTime()) / 1000)
    lines.push([explain.blocked, [explain.blockedFor(long), ...stackLines(worker.stack, explain)].join('\n')])
  }
  return lines
}

/** A line per frame, as reported by the heartbeat thread: the innermost first. */
function stackLines(stack: string | null, { more, noStack }: Output['word']['explain']): string[] {
  if (stack === null) return [noStack]
  const lines = stack.split(' < ').map(line => brief(line, page))
  const rest = lines.length - mostStack
  return rest > 0 ? [...lines.slice(0, mostStack), more(rest)] : lines
}

function failurePairs({ lastFailure, now }: Shown, { word, language }: Output): Pair[] {
  if (!lastFailure) return []
  const { explain } = word
  const { attempt, type, message, at, evidence } = lastFailure
  const when = ago(new Date(at), new Date(now), language)
  const lines = evidenceLines(evidence, word, mostStack, page)
  return [
    [explain.failure, sentenceLines(explain.failed(attempt, type, when, brief(message, 200)), room).join('\n')],
    ...(lines.length === 0 ? [] : [[explain.evidence, lines.join('\n')] as const]),
  ]
}
