/**
 * `retoma jobs retry|cancel|erase ID…`: acts on each id separately, so that a failing id does not affect the others. With a filter in place of
 * ids, jobs-bulk.ts acts on all jobs that match.
 */
import type { Command } from 'commander'
import { RetomaError } from '../../../errors/errors.ts'
import type { Engine, JobActionResult } from '../../../index.ts'
import { wrongUse } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import type { CliMessages } from '../../messages/index.ts'
import { osUser } from '../../os-user.ts'
import { asRetomaError } from '../../output.ts'
import type { Cli } from '../../program.ts'
import { addBulkOptions, applyToAll, type BulkFlags, filterOf } from './jobs-bulk.ts'

export function retryCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  const run = async (context: Context, ids: string[], flags: BulkFlags & { fromScratch?: true }) => {
    const filter = filterOf(ids, flags)
    if (filter !== undefined && flags.fromScratch) throw wrongUse(({ wrong }) => wrong.fromScratchIds)
    if (filter !== undefined) return applyToAll(context, 'retry', filter, flags)
    return flags.fromScratch
      ? applyToEach(context, ids, (engine, id) => engine.jobs.rerun(id, osUser()), rerunLine)
      : applyToEach(context, ids, again, retryLine)
  }
  const command = jobs
    .command('retry')
    .description(help.jobsRetry)
    .argument('[ids...]', help.idsOrFilter)
    .option('--from-scratch', help.fromScratch)
  addBulkOptions(command, cli).action(cli.action(run))
}

export function cancelCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  const run = async (context: Context, ids: string[], flags: BulkFlags) => {
    const filter = filterOf(ids, flags)
    return filter === undefined
      ? applyToEach(context, ids, cancelJob, cancelLine)
      : applyToAll(context, 'cancel', filter, flags)
  }
  const command = jobs.command('cancel').description(help.jobsCancel).argument('[ids...]', help.idsOrFilter)
  addBulkOptions(command, cli).action(cli.action(run))
}

export function eraseCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  const run = async (context: Context, ids: string[], flags: BulkFlags) => {
    const filter = filterOf(ids, flags)
    return filter === undefined
      ? applyToEach(context, ids, eraseJob, eraseLine)
      : applyToAll(context, 'erase', filter, flags)
  }
  const command = jobs.command('erase').description(help.jobsErase).argument('[ids...]', help.idsOrFilter)
  addBulkOptions(command, cli).action(cli.action(run))
}

async function eraseJob(engine: Engine, id: string): Promise<JobActionResult> {
  const job = await engine.job(id)
  if (job === null) throw new RetomaError('not_found', { what: 'job', id })
  const { erased } = await engine.jobs.erase(id, osUser())
  return { id, state: job.state, changed: erased }
}

const eraseLine = ({ id }: JobActionResult, { jobs }: CliMessages) => jobs.erased(id)

/** On the command line, `retry` also resumes a stalled job. */
async function again(engine: Engine, id: string): Promise<JobActionResult> {
  const job = await engine.job(id)
  return job?.state === 'stalled'
    ? ((await engine.jobs.resume(id, osUser())) as JobActionResult)
    : engine.jobs.retry(id, osUser())
}

/** Refuses the id of a batch: a mistyped id can cancel at most a single job. */
async function cancelJob(engine: Engine, id: string): Promise<JobActionResult> {
  if ((await engine.job(id)) === null) throw new RetomaError('not_found', { what: 'job', id })
  return (await engine.jobs.cancel(id, osUser())) as JobActionResult
}

const retryLine = ({ id, state, changed }: JobActionResult, { jobs }: CliMessages) =>
  changed ? jobs.retried(id) : jobs.retriedAlready(id, state)
const rerunLine = ({ id, state, changed }: JobActionResult, { jobs }: CliMessages) =>
  changed ? jobs.rerun(id) : jobs.rerunAlready(id, state)
const cancelLine = ({ id, changed }: JobActionResult, { jobs }: CliMessages) =>
  changed ? jobs.cancelled(id) : jobs.cancelledAlready(id)

/** Returns the exit code. */
export async function applyToEach(
  context: Context,
  ids: readonly string[],
  apply: (engine: Engine, id: string) => Promise<JobActionResult>,
  line: (applied: JobActionResult, word: CliMessages) => string,
): Promise<number> {
  const { output } = context
  await refuseWithoutData(context)
  const answers = await withEngine(context, {}, async engine => {
    const all = []
    for (const id of ids) all.push(await apply(engine, id).catch(error => ({ id, error: asRetomaError(error) })))
    return all
  })
  const items = answers.map(answer =>
    'error' in answer
      ? { id: answer.id, error: { code: answer.error.code, message: answer.error.in(output.language) } }
      : answer,
  )
  output.answer(
    { items, next: null },
    answers.flatMap(answer => ('error' in answer ? [] : [line(answer, output.word)])),
  )
  const errors = answers.flatMap(answer => ('error' in answer ? [answer.error] : []))
  if (!output.json) for (const error of errors) output.complain(error)
  return errors.length === 0 ? 0 : 1
}
