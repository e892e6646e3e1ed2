/** The seed's words for the states of a batch and of a job. The SQL views have the same words, and a test compares both. */
import type { BatchState, JobState } from 'retoma'

export const statuses = ['PENDENTE', 'EM_ANDAMENTO', 'PAUSADO', 'TRAVADO', 'CONCLUIDO', 'ERRO', 'CANCELADO'] as const
export type Status = (typeof statuses)[number]

export const documentStatuses = ['PENDENTE', 'PROCESSANDO', 'CONCLUIDO', 'ERRO', 'PULADO'] as const
export type DocumentStatus = (typeof documentStatuses)[number]

/** Before the first job starts, a batch is PENDENTE, whether `submitting` or `waiting`. */
export const statusOf: Readonly<Record<BatchState, Status>> = {
  submitting: 'PENDENTE',
  waiting: 'PENDENTE',
  running: 'EM_ANDAMENTO',
  paused: 'PAUSADO',
  stalled: 'TRAVADO',
  succeeded: 'CONCLUIDO',
  completed_with_failures: 'CONCLUIDO',
  failed: 'ERRO',
  cancelled: 'CANCELADO',
}

export const documentStatusOf: Readonly<Record<JobState, DocumentStatus>> = {
  waiting: 'PENDENTE',
  running: 'PROCESSANDO',
  stalled: 'PROCESSANDO',
  succeeded: 'CONCLUIDO',
  failed: 'ERRO',
  skipped: 'PULADO',
  // The seed has five states.
  cancelled: 'PULADO',
}
