/** Divides the connections of a database among the worker processes of a supervisor. */
import { RetomaError } from '../../errors/errors.ts'

export interface ConnectionShare {
  /** The option `connections` of the engine of each process. */
  connections: number
  /** The most connections of all processes together. */
  most: number
}

/** A process has its pool, as many connections again for `ctx.transaction`, one for LISTEN, one for heartbeats. */
const connectionsOf = (pool: number): number => 2 * pool + 2

const usualPool = 10
const leastPool = 2
/** The rest is for people, backups and other programs; `retoma doctor` warns from here on. */
const usable = 0.8

/** Throws `too_many_processes` if even the least pools need more connections than the database allows. */
export function shareConnections(allowed: number, processes: number): ConnectionShare {
  const least = connectionsOf(leastPool)
  if (least * processes > allowed)
    throw new RetomaError('too_many_processes', {
      processes,
      needed: least * processes,
      allowed,
      most: Math.floor(allowed / least),
    })
  const share = Math.floor((allowed * usable) / processes)
  const pool = Math.min(Math.max(Math.floor((share - 2) / 2), leastPool), usualPool)
  return { connections: pool, most: connectionsOf(pool) * processes }
}
