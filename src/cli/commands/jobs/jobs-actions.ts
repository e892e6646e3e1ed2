/** `retoma jobs retry|cancel ID…`: acts on each id separately, so that a failing id does not affect the others. */
import type { Command } from 'commander'
import { RetomaError } from '../../../errors/errors.ts'
import type { Engine, JobActionResult } from '../../../index.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import type { CliMessages } from '../../messages/index.ts'
import { osUser } from '../../os-user.ts'
import { asRetomaError } from '../../output.ts'
import type { Cli } from '../../program.ts'

export function retryCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  const run = (context: Context, ids: string[], { fromScratch = false }: { fromScratch?: boolean }) =>
    fromScratch
      ? applyToEach(context, ids, (engine, id) => engine.jobs.rerun(id, osUser()), rerunLine)
      : applyToEach(context, ids, again, retryLine)
  jobs
    .command('retry')
    .description(help.jobsRetry)
    .argument('<ids...>', help.ids)
    .option('--from-scratch', help.fromScratch)
    .action(cli.action(run))
}

export function cancelCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  const run = (context: Context, ids: string[]) => applyToEach(context, ids, cancelJob, cancelLine)
  jobs.command('cancel').description(help.jobsCancel).argument('<ids...>', help.ids).action(cli.action(run))
}

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
