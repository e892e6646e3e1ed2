/** Facts about a batch that the pages of batches share. */
import type { Answer } from '../../api/client.ts'
import type { Tone } from '../../components/badge.tsx'
import type { ProgressPart } from '../../components/progress.tsx'

export type BatchView = Answer<'GET /api/v1/batches/{id}'>
export type ItemState = 'waiting' | 'running' | 'stalled' | 'succeeded' | 'failed' | 'skipped' | 'cancelled'

/** In the order of a progress bar: what ended first. */
export const itemStates = ['succeeded', 'failed', 'skipped', 'cancelled', 'stalled', 'running', 'waiting'] as const

export const isItemState = (text: string | undefined): text is ItemState =>
  (itemStates as readonly (string | undefined)[]).includes(text)

export const batchStates = [
  'submitting',
  'waiting',
  'running',
  'paused',
  'stalled',
  'succeeded',
  'completed_with_failures',
  'failed',
  'cancelled',
] as const
type BatchState = (typeof batchStates)[number]

export const isBatchState = (text: string | undefined): text is BatchState =>
  (batchStates as readonly (string | undefined)[]).includes(text)

const finalStates: readonly BatchState[] = ['succeeded', 'completed_with_failures', 'failed', 'cancelled']
export const isOpen = ({ state }: { state: BatchState }): boolean => !finalStates.includes(state)

const tones: Readonly<Record<ItemState, Tone>> = {
  succeeded: 'good',
  failed: 'bad',
  skipped: 'idle',
  cancelled: 'idle',
  stalled: 'warn',
  running: 'busy',
  waiting: 'idle',
}

/** The parts of the progress bar; what waits is the empty rest. */
export const progressParts = (batch: BatchView, words: Readonly<Record<ItemState, string>>): ProgressPart[] =>
  itemStates
    .filter(state => state !== 'waiting')
    .map(state => ({
      value: batch[state],
      tone: tones[state],
      label: words[state],
      isUnderWay: state === 'running' || state === 'stalled',
    }))

export const endedOf = ({ succeeded, failed, skipped, cancelled }: BatchView): number =>
  succeeded + failed + skipped + cancelled

export const unfinishedOf = (batch: BatchView): number => batch.total - endedOf(batch)
