/**
 * Leaves a server; the last process to leave stops the server. The keeper calls this once.
 *
 * A server that has just crashed is asked again once the server answers. A server that does not accept connections yet has no clients, so
 * the server is stopped; a process waiting for the server starts a new server. A server without any answer is left as is: other processes
 * may use the server, the server would not react to a signal either, and the next process attaches to the server.
 *
 * Invariant: leaving takes seconds, whatever the server does.
 */
import type pg from 'pg'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type ProbeAnswer, probeServer } from './connect-probe.ts'
import type { DataDir } from './data-dir.ts'
import { answeringPid, livePid } from './pidfile.ts'
import { closeConnection } from './server-connection.ts'
import { leaveSharedUse, othersLive } from './shared-use-lock.ts'
import { stopServer } from './stop-server.ts'

const waitLimit = 10_000
const pause = 20
/** A process that lost the connection together with this process needs a moment to reconnect. */
const grace = 250
/** The lock of a killed process is released as soon as the server notices. */
const notice = 5000

export async function leaveServer(
  dataDir: DataDir,
  held: pg.Client | undefined,
  { clock, log }: { clock: Clock; log: Log },
): Promise<void> {
  if (held && (await leaveBy(dataDir, held, clock))) return
  const deadline = clock.now().getTime() + waitLimit
  let answer: ProbeAnswer = { is: 'away' }
  while (clock.now().getTime() < deadline && answer.is !== 'silent') {
    answer = await probeServer(dataDir.socket, 'retoma leaving').catch(({ message: why }) => ({ is: 'silent', why }))
    if (answer.is === 'away' && (await livePid(dataDir.data)) === undefined) return
    await clock.sleep(answer.is === 'up' ? grace : pause)
    if (answer.is === 'up' && (await leaveBy(dataDir, answer.client, clock))) return
  }
  if (answer.is === 'starting' || answer.is === 'away')
    return stopServer(dataDir, await livePid(dataDir.data), clock, ['SIGQUIT'])
  log.warn(
    { folder: dataDir.folder, pid: await livePid(dataDir.data), answer: answer.is },
    'the embedded PostgreSQL keeps running: cannot find out whether other processes use it',
  )
}

/** False: the server did not answer. */
async function leaveBy(dataDir: DataDir, client: pg.Client, clock: Clock): Promise<boolean> {
  try {
    const last = await isLast(client, clock).catch(() => undefined)
    if (last) await stopServer(dataDir, await answeringPid(client, dataDir.data), clock)
    return last !== undefined
  } finally {
    await closeConnection(client)
  }
}

async function isLast(client: pg.Client, clock: Clock): Promise<boolean> {
  const deadline = clock.now().getTime() + notice
  while (!(await leaveSharedUse(client))) {
    if ((await othersLive(client)) || clock.now().getTime() > deadline) return false
    await clock.sleep(pause)
  }
  return true
}
