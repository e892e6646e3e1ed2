/** Facts about a job that the pages of jobs share. */
import type { Answer } from '../../api/client.ts'
import type { ItemOf } from '../../api/query.ts'

export type JobRow = ItemOf<'GET /api/v1/jobs'>
export type JobDetail = Answer<'GET /api/v1/jobs/{id}'>

export const jobStates = ['waiting', 'running', 'stalled', 'succeeded', 'failed', 'skipped', 'cancelled'] as const
export type JobState = (typeof jobStates)[number]

export const isJobState = (text: string | undefined): text is JobState =>
  (jobStates as readonly (string | undefined)[]).includes(text)

const finals: readonly JobState[] = ['succeeded', 'failed', 'skipped', 'cancelled']
export const isFinal = (state: JobState): boolean => finals.includes(state)

export type JobActionName = 'retry' | 'resume' | 'rerun' | 'skip' | 'cancel'

/** The actions that make sense in a state. */
export const actionsOf = (state: JobState): readonly JobActionName[] => {
  switch (state) {
    case 'waiting':
    case 'running':
      return ['cancel', 'skip']
    case 'stalled':
      return ['resume', 'cancel', 'skip']
    case 'failed':
      return ['retry', 'rerun', 'skip']
    case 'skipped':
    case 'cancelled':
      return ['retry', 'rerun']
    case 'succeeded':
      return ['rerun']
  }
}
