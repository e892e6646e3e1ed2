/** The seconds of an execution without progress, between two reads of its status. */
import type { Detail } from './api-types.ts'

/** Also without events, so that a lost stream does not stop the page. */
export const pollMs = 5000
/** If the server answers, the status is read again by then. */
const readAtLatestMs = 2 * pollMs

/**
 * Seconds without the end of an attempt; 0 unless the execution is at work. The number ticks between two reads and stands still once the
 * next read is overdue: without a connection, the page does not know the progress.
 */
export function idleSecondsOf(
  { status, segundos_sem_progresso: idle }: Pick<Detail, 'status' | 'segundos_sem_progresso'>,
  readAt: number,
  now: number,
): number {
  if (status !== 'EM_ANDAMENTO') return 0
  return idle + Math.floor(Math.min(readAtLatestMs, Math.max(0, now - readAt)) / 1000)
}
