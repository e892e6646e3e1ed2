/** `retoma jobs enqueue KIND [JSON]`: enqueues a job of a kind of the config, and waits for the job on request. */
import { text as textOf } from 'node:stream/consumers'
import type { Command } from 'commander'
import { internalsOf } from '../../../engine/internals.ts'
import { nearest } from '../../../errors/did-you-mean.ts'
import { RetomaError } from '../../../errors/errors.ts'
import type { Engine } from '../../../index.ts'
import type { AnyJob } from '../../../jobs/model/job.ts'
import { jobDetailWire } from '../../../json-views.ts'
import type { Duration } from '../../../lib/values/duration.ts'
import { duration, instant, json, wholeNumber, wrongUse } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { isOwnDatabase, withEngine } from '../../command-database.ts'
import { type LoadedApps, loadApps } from '../../load-apps.ts'
import { whyNoJobs } from '../../load-config.ts'
import { both } from '../../messages/index.ts'
import type { Cli } from '../../program.ts'
import { jobFields } from './jobs-show.ts'

interface EnqueueFlags {
  key?: string
  priority?: number
  delay?: Duration
  runAt?: Date
  ref?: string
  group?: string
  queue?: string
  maxAttempts?: number
  backoff?: Duration
  timeout?: Duration
  retention?: Duration
  wait?: true
}

export function enqueueCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  jobs
    .command('enqueue')
    .description(help.jobsEnqueue)
    .argument('<kind>', help.kind)
    .argument('[json]', help.input)
    .option('--key <key>', help.key)
    .option('--priority <n>', help.priority, wholeNumber('--priority', 0, 9))
    .option('--delay <duration>', help.delay, duration('--delay'))
    .option('--run-at <instant>', help.runAt, instant('--run-at'))
    .option('--ref <ref>', help.ref)
    .option('--group <group>', help.group)
    .option('--queue <queue>', help.inQueue)
    .option('--max-attempts <n>', help.maxAttempts, wholeNumber('--max-attempts', 1, 1_000_000))
    .option('--backoff <duration>', help.backoff, duration('--backoff'))
    .option('--timeout <duration>', help.timeout, duration('--timeout'))
    .option('--retention <duration>', help.retention, duration('--retention'))
    .option('--wait', help.wait)
    .action(cli.action(enqueue))
}

async function enqueue(
  context: Context,
  kind: string,
  given: string | undefined,
  flags: EnqueueFlags,
): Promise<number> {
  const { output } = context
  const { group, wait, backoff, ...options } = flags
  if (options.delay !== undefined && options.runAt !== undefined) throw wrongUse(word => word.wrong.runAtAndDelay)
  const loaded = await loadApps(context)
  const job = findJob(kind, loaded)
  const input = await readInput(given)
  // The embedded database belongs to this folder; a shared database is migrated only on request.
  const own = await isOwnDatabase(context)
  return withEngine(context, { jobs: loaded.jobs, migrate: own }, async (engine, asked) => {
    const { kind } = job
    const { queue = job.queue } = options
    if (options.queue !== undefined) await internalsOf(engine).findQueue(queue)
    const { id, created } = await engine.enqueue(job, input, {
      ...options,
      ...(group === undefined ? {} : { groupKey: group }),
      ...(backoff === undefined ? {} : { backoff: { first: backoff } }),
    })
    const { jobs } = output.word
    const first = created ? jobs.enqueued(id, kind, queue) : jobs.held(id, flags.key ?? '')
    if (!wait) output.answer({ id, created, kind, queue }, [first, jobs.see(id)])
    else output.note(first)
    if (!(await isTaken({ kind, queue }, engine))) output.note(jobs.noWorker(queue))
    return wait ? waitFor(context, engine, id, asked) : 0
  })
}

/** True if a live worker claims jobs of the kind. */
export async function isTaken({ kind, queue }: Pick<AnyJob, 'kind' | 'queue'>, engine: Engine): Promise<boolean> {
  const workers = await engine.workers.list()
  return workers.some(worker => !worker.dead && Object.hasOwn(worker.queues, queue) && worker.kinds.includes(kind))
}

async function waitFor({ output }: Context, engine: Engine, id: string, asked: AbortSignal): Promise<number> {
  output.note(output.word.jobs.waiting(id))
  const ended = await engine.wait({ job: id }, { signal: asked })
  output.answer(jobDetailWire(ended), jobFields(ended, output))
  return ended.state === 'succeeded' || ended.state === 'skipped' ? 0 : 1
}

function findJob(kind: string, { jobs, config }: LoadedApps): AnyJob {
  const job = jobs.find(each => each.kind === kind)
  if (job !== undefined) return job
  const kinds = jobs.map(each => each.kind)
  const near = nearest(kind, kinds)
  const hint = both(({ config: word }) => (near === undefined ? word.kindHint(kinds.join(', ')) : word.meant(near)))
  throw new RetomaError('unknown_kind', { kind, hint: kinds.length === 0 ? whyNoJobs(config) : hint })
}

/** The argument, or with `-` the text of stdin. Stdin is never read otherwise: its lines may belong to a loop of the shell. */
async function readInput(given: string | undefined): Promise<unknown> {
  const text = given === '-' ? await textOf(process.stdin) : given
  return text === undefined || (text.trim() === '' && given !== '') ? undefined : json(text)
}
