/** `retoma jobs show ID`: shows a job with the history and the complete errors, and with `--logs` the last log lines. */
import type { Command } from 'commander'
import { RetomaError } from '../../../errors/errors.ts'
import type { Engine, JobDetail, JobLogLine } from '../../../index.ts'
import { jobDetailWire, logLineWire, policyWire } from '../../../json-views.ts'
import { systemClock } from '../../../lib/clock.ts'
import { readableValue } from '../../../lib/values/value-codec.ts'
import { visibleLine } from '../../../lib/values/visible-text.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { evidenceLines } from '../../format/crash-evidence-lines.ts'
import { sentenceLines } from '../../format/explain-lines.ts'
import { when } from '../../format/relative-time.ts'
import { fields } from '../../format/text-table.ts'
import { timelineLines } from '../../format/timeline-lines.ts'
import type { CliMessages } from '../../messages/index.ts'
import type { Output } from '../../output.ts'
import type { Cli } from '../../program.ts'

type Label = keyof CliMessages['jobs']['labels']

export function showCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  jobs
    .command('show')
    .description(help.jobsShow)
    .argument('<id>', help.id)
    .option('--logs', help.jobLogs)
    .action(cli.action(show))
}

async function show(context: Context, id: string, flags: { logs?: true }): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const { job, sentence, lines } = await withEngine(context, {}, async engine => {
    const job = await engine.job(id)
    if (job === null) throw new RetomaError('not_found', { what: 'job', id })
    const { sentence } = await engine.explain({ job: id }, { language: output.language })
    return { job, sentence, lines: flags.logs ? await allLines(engine, id) : undefined }
  })
  output.answer({ ...jobDetailWire(job), ...(lines === undefined ? {} : { logs: lines.map(logLineWire) }) }, [
    ...jobFields(job, output),
    '',
    ...sentenceLines(sentence),
    '',
    output.word.jobs.timeline,
    ...timelineLines(job, output),
    ...historyLines(job, output),
    ...(lines === undefined ? [] : logLines(lines, output)),
  ])
}

async function allLines(engine: Engine, id: string): Promise<JobLogLine[]> {
  const lines: JobLogLine[] = []
  for (let after: string | undefined; ; ) {
    const page = await engine.jobs.logs(id, { limit: 500, ...(after === undefined ? {} : { after }) })
    lines.push(...page.items)
    if (page.next === null) return lines
    after = page.next
  }
}

/** A gap in the numbers means lines that are no longer kept. */
function logLines(lines: readonly JobLogLine[], { word }: Output): string[] {
  if (lines.length === 0) return ['', word.jobs.noLogs]
  return [
    '',
    word.jobs.logs,
    ...lines.map(({ attempt, at, level, message, facts }) => {
      const about = Object.entries(facts ?? {}).map(([name, value]) => ` ${name}=${readableFact(value)}`)
      return `  ${attempt}  ${at.toISOString()} ${level.padEnd(5)} ${visibleLine(`${message}${about.join('')}`)}`
    }),
  ]
}

const readableFact = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

export function jobFields(job: JobDetail, { word, language }: Output): string[] {
  const now = systemClock.now()
  const isSkipped = job.state === 'skipped'
  const { policy_override: policyOverride, retention_seconds: retention } = policyWire(job)
  const shown: Record<Label, unknown> = {
    ...job,
    version: job.version === 1 ? null : job.version,
    crashSuspicion: job.crashSuspicion === null ? null : word.jobs.crashSuspicionOf(job.crashSuspicion),
    error: isSkipped ? null : errorLine(job),
    skipped: isSkipped ? job.error?.message : null,
    policyOverride,
    retention,
  }
  const labels = Object.entries(word.jobs.labels) as [Label, string][]
  return fields(
    labels.flatMap(([name, label]) => {
      const text = readable(shown[name], now, language)
      return text === undefined ? [] : [[label, text] as const]
    }),
  )
}

function historyLines({ history }: JobDetail, { word, language }: Output): string[] {
  if (history.length === 0) return []
  const now = systemClock.now()
  return [
    '',
    word.jobs.history,
    ...history.flatMap(({ attempt, type, at, worker, stack, message, evidence }) => [
      `  ${word.jobs.attempt(attempt, type, when(at, now, language))}${worker === null ? '' : `, ${worker}`}`,
      ...indented(stack === null ? message : aFrameALine(stack)),
      ...evidenceLines(evidence, word, stderrLines).flatMap(indented),
    ]),
  ]
}

const stderrLines = 20

/** The heartbeat thread reports the frames of a blocked loop in a single line. */
const aFrameALine = (stack: string) => (stack.includes('\n') ? stack : stack.replaceAll(' < ', '\n'))

const indented = (text: string) => text.split('\n').map(line => `    ${line}`)

/** The messages of Retoma errors already begin with the code. */
const errorLine = ({ error }: JobDetail) =>
  error &&
  (error.code === null || error.message.startsWith(`${error.code}: `)
    ? error.message
    : `${error.code}: ${error.message}`)

/** Undefined: nothing to show. */
function readable(value: unknown, now: Date, language: Output['language']): string | undefined {
  if (value === null || value === undefined) return undefined
  if (value instanceof Date) return when(value, now, language)
  return typeof value === 'string' ? value : JSON.stringify(readableValue(value))
}
