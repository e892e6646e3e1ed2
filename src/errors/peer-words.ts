/**
 * Knows the words of other job libraries (BullMQ, pg-boss, graphile-worker, Oban, River, DBOS, Temporal, Trigger.dev) for the options of
 * Retoma, so that the error about an unknown option names the option or the call that does the same here.
 *
 * Invariant: a hint names an option that the call accepts, or a call that exists.
 */
import { type LocalizedText, localized } from './errors.ts'

const code = (text: string): LocalizedText => localized(text, text)

/** The call that takes each of our words, for a caller who gives the word, or the word of a peer, to another call. */
const places: Readonly<Record<string, LocalizedText>> = {
  key: code('enqueue(job, input, { key })'),
  keyUntil: code("enqueue(job, input, { key, keyUntil: 'final' })"),
  priority: code('enqueue(job, input, { priority: 0 })'),
  weight: code('submit(batch, list, { weight: 3 })'),
  runAt: code('enqueue(job, input, { runAt: date })'),
  delay: code('enqueue(job, input, { delay: minutes(5) })'),
  groupKey: code('enqueue(job, input, { groupKey })'),
  ref: code('enqueue(job, input, { ref })'),
  tx: code('enqueue(job, input, { tx })'),
  input: localized('the second argument of enqueue(job, input)', 'o segundo argumento de enqueue(job, input)'),
  kind: code('defineJob({ kind })'),
  queue: code('defineJob({ queue })'),
  run: code('defineJob({ run })'),
  maxAttempts: localized(
    'defineJob({ maxAttempts: 5 }), or submit(batch, list, { items: { maxAttempts: 5 } }) for a batch',
    'defineJob({ maxAttempts: 5 }), ou submit(batch, list, { items: { maxAttempts: 5 } }) para um lote',
  ),
  backoff: code('defineJob({ backoff: { first: seconds(5), factor: 2 } })'),
  timeout: code('defineJob({ timeout: minutes(2) })'),
  maxAge: code('defineJob({ maxAge: hours(1) })'),
  maxWait: code('defineJob({ maxWait: hours(1) })'),
  stallAfter: code('defineJob({ stallAfter: minutes(5) })'),
  orphanAfter: code('defineJob({ orphanAfter: seconds(20) })'),
  maxCrashes: code('defineJob({ maxCrashes: 3 })'),
  isolation: code("defineJob({ isolation: 'process', handler })"),
  concurrency: localized(
    'engine.work({ queues: { mail: 20 } }) for a worker, createEngine({ limits: { mail: { concurrency: 20 } } }) for all workers',
    'engine.work({ queues: { mail: 20 } }) para um worker, createEngine({ limits: { mail: { concurrency: 20 } } }) para todos',
  ),
  queues: code('engine.work({ queues: { mail: 20 } })'),
  processes: localized('the command retoma worker --processes 4', 'o comando retoma worker --processes 4'),
  grace: code('engine.work({ grace: seconds(5) })'),
  polling: localized(
    'nothing: PostgreSQL wakes the workers when a job is ready',
    'nada: o PostgreSQL acorda os workers quando um job fica pronto',
  ),
  limits: code('createEngine({ limits: { mail: { rate: { limit: 10, per: seconds(1) } } } })'),
  retention: code('createEngine({ retention: days(30) })'),
  databaseUrl: code('createEngine({ databaseUrl })'),
  connections: code('createEngine({ connections: 10 })'),
  jobs: code('createEngine({ jobs: [job] })'),
  schedule: code("defineSchedule({ name, job, cron: '0 4 * * *' })"),
  deadLetter: localized(
    "engine.jobs.list({ state: 'failed' }): a failed job stays, and engine.jobs.retry(id) runs it again",
    "engine.jobs.list({ state: 'failed' }): um job que falhou fica, e engine.jobs.retry(id) roda o job de novo",
  ),
  debounce: localized(
    'enqueue(job, input, { key, delay }), then engine.jobs.update(id, { runAt }) while the job waits',
    'enqueue(job, input, { key, delay }), e engine.jobs.update(id, { runAt }) enquanto o job espera',
  ),
  output: localized(
    'the type of what run returns: the types of a result follow from it',
    'o tipo do que run retorna: os tipos de um resultado seguem dele',
  ),
  immediately: localized(
    'engine.schedules.run(name) for a job at once',
    'engine.schedules.run(name) para um job imediato',
  ),
  onComplete: localized(
    'defineBatch({ onComplete }) for a batch, handle.result() or engine.events() for a job',
    'defineBatch({ onComplete }) para um lote, handle.result() ou engine.events() para um job',
  ),
  steps: localized(
    'ctx.step in one handler, or defineBatch({ onComplete })',
    'ctx.step num só handler, ou defineBatch({ onComplete })',
  ),
}

/**
 * The words of peers, in small letters and without "_" and "-", by our words for them. A call that knows one of our words gets the
 * first of these words as its hint, any other call the place of the first word.
 */
const peers: readonly [ours: string, theirs: string][] = [
  ['key', 'jobId jobKey singletonKey uniqueKey dedupeKey deduplication deduplicationId idempotencyKey workflowId unique uniqueOpts dedupe id'],
  ['kind', 'id'],
  ['keyUntil', 'jobKeyMode singletonSeconds singletonMinutes singletonHours idempotencyKeyTTL uniqueFor'],
  ['maxAttempts', 'attempts retryLimit maxRetries retries retry maximumAttempts maxTries tries retryOptions'],
  ['backoff', 'retryDelay retryBackoff retryDelayMax retryPolicy backoffStrategy retryIntervalSeconds'],
  ['first', 'delay initialInterval minTimeoutInMs initialDelay'],
  ['factor', 'type multiplier exponential backoffCoefficient rate'],
  ['max', 'maximumInterval maxTimeoutInMs maxDelay limit'],
  ['backoff', 'initialInterval minTimeoutInMs backoffCoefficient maximumInterval maxTimeoutInMs'],
  ['runAt', 'startAfter scheduledAt scheduleAt scheduledFor sendAfter runAfter notBefore eta delayUntil startAt'],
  ['delay', 'scheduleIn delayMs delaySeconds wait countdown startDelay'],
  ['cron', 'pattern expression crontab schedule'],
  ['every', 'interval intervalMs'],
  ['timeZone', 'tz timezone'],
  ['schedule', 'repeat repeatable cron every pattern crontab tz recurring repeatEvery'],
  ['queues', 'concurrency localConcurrency maxConcurrency teamSize workerConcurrency batchSize maxWorkers'],
  ['concurrency', 'concurrency localConcurrency maxConcurrency concurrencyLimit teamSize teamConcurrency workerConcurrency maxWorkers concurrentJobs'],
  ['grace', 'gracePeriod shutdownTimeout shutdownGraceTime gracefulShutdown drainTimeout'],
  ['polling', 'pollInterval pollingInterval pollingIntervalSeconds newJobCheckInterval fetchPollInterval drainDelay'],
  ['deadLetter', 'deadLetterQueue dlq deadLetterExchange'],
  ['debounce', 'throttleKey debounceKey'],
  ['output', 'outputSchema resultSchema returns'],
  ['immediately', 'immediate runImmediately runOnInit runNow'],
  ['processes', 'cluster workersCount instances'],
  ['limits', 'limiter rate rateLimit rateLimiter throttle globalConcurrency'],
  ['retention', 'removeOnComplete removeOnFail keepJobs retentionSeconds retentionDays deleteAfterSeconds archiveCompletedAfterSeconds keepUntil'],
  ['maxAge', 'ttl expiresAt scheduleToCloseTimeout'],
  ['maxWait', 'scheduleToStartTimeout'],
  ['queue', 'queueName taskQueue channel topic'],
  ['timeout', 'expireIn expireInSeconds expireInMinutes expireInHours executionTimeout startToCloseTimeout timeoutMs timeoutSeconds maxDuration jobTimeout visibilityTimeout'],
  ['orphanAfter', 'lockDuration stalledInterval heartbeatSeconds heartbeatTimeout rescueAfter rescueStuckJobsAfter'],
  ['maxCrashes', 'maxStalledCount'],
  ['isolation', 'useWorkerThreads sandbox sandboxed'],
  ['run', 'processor process perform handle fn execute callback task'],
  ['kind', 'name type taskIdentifier taskName jobName identifier task'],
  ['input', 'payload data args params schema inputSchema body'],
  ['priority', 'lifo prio weight'],
  ['groupKey', 'group groupId tenant tenantId concurrencyKey partitionKey queuePartitionKey'],
  ['ref', 'tags tag meta metadata externalId correlationId'],
  ['tx', 'transaction trx client db connection'],
  ['databaseUrl', 'connectionString connection redis redisUrl url dbUrl dsn uri database client db'],
  ['rate', 'max limiter rateLimit'],
  ['connections', 'max poolSize maxPoolSize connectionLimit'],
  ['job', 'jobs'],
  ['maxMs', 'max timeout maxDuration duration'],
  ['who', 'key user userId ip identifier auth authenticate authorize authorization getUser'],
  ['bucket', 'name'],
  ['basePath', 'prefix path mountPath base'],
  ['log', 'logger logging'],
  ['jobs', 'tasks taskList handlers workflows activities workers'],
  ['onComplete', 'onSuccess onFailure onFailed onCompleted onError'],
  ['steps', 'parent children dependsOn dependencies flow'],
  ['signal', 'timeout timeoutMs timeoutSeconds'],
  ['state', 'status states'],
  ['createdBefore', 'before olderThan'],
  ['after', 'offset page cursor start'],
  ['limit', 'take pageSize perPage count size'],
] // biome-ignore format: read as a table

const plain = (word: string): string => word.toLowerCase().replaceAll(/[_-]/g, '')

const oursOf = new Map<string, string[]>()
for (const [ours, theirs] of peers)
  for (const word of theirs.split(' ')) oursOf.set(plain(word), [...(oursOf.get(plain(word)) ?? []), ours])

/**
 * Returns the end of a sentence about an unknown option: `, did you mean "key"?` or `; use defineJob({ maxAttempts: 5 })`. Undefined:
 * neither a word of a peer nor one of ours.
 */
export function peerHint(option: string, known: readonly string[]): LocalizedText | undefined {
  const ours = oursOf.get(plain(option)) ?? []
  const meant = ours.find(each => known.includes(each))
  if (meant === 'signal') return code('; use { signal: AbortSignal.timeout(5000) }')
  if (meant !== undefined) return localized(`, did you mean "${meant}"?`, `, você quis dizer "${meant}"?`)
  const place = places[[option, ...ours].find(each => Object.hasOwn(places, each)) ?? '']
  return place && localized(`; use ${place.en}`, `; use ${place.pt}`)
}
