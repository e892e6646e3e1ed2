/** The checkpoints of a quote in order: done, current, to come. */
import { Check } from 'lucide-react'
import type { Answer } from '../../api/client.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import { quotesMessages } from './messages.ts'

type Quote = Answer<'GET /api/quotes/{id}'>
type Checkpoint = NonNullable<Quote['processing_checkpoint']>

/** The steps that a person sees; several checkpoints can be one step. */
const ofVehicle: readonly Checkpoint[][] = [
  ['INIT', 'AI_ANALYSIS_START'],
  ['AI_ANALYSIS_DONE', 'FIPE_SEARCH'],
  ['FINALIZATION'],
  ['COMPLETED'],
]
const ofProduct: readonly Checkpoint[][] = [
  ['INIT', 'AI_ANALYSIS_START'],
  ['AI_ANALYSIS_DONE', 'SHOPPING_SEARCH_START'],
  ['SHOPPING_SEARCH_DONE', 'PRICE_EXTRACTION_START', 'PRICE_EXTRACTION_PROGRESS'],
  ['PRICE_EXTRACTION_DONE', 'FINALIZATION'],
  ['COMPLETED'],
]

export function Stepper({ quote: { kind, processing_checkpoint, status } }: { quote: Quote }) {
  const words = useMessages(quotesMessages)
  const steps = kind === 'vehicle' ? ofVehicle : ofProduct
  const current = steps.findIndex(step => processing_checkpoint !== null && step.includes(processing_checkpoint))
  return (
    <ol aria-label={words.steps} class="flex gap-x-3 gap-y-2 max-nav:flex-col">
      {steps.map((step, index) => {
        const isDone = status === 'DONE' || index < current
        const isCurrent = !isDone && index === current
        const name = words.checkpoint[step.at(-1)!]
        return (
          <li
            key={name}
            aria-current={isCurrent ? 'step' : undefined}
            class={classes('flex items-center gap-2 not-last:flex-1', isDone || isCurrent ? 'text-ink' : 'text-muted')}
          >
            <span
              class={classes(
                'flex size-5 items-center justify-center rounded-full border text-xs font-semibold',
                isDone && 'border-transparent bg-good-soft text-good',
                isCurrent && 'border-transparent bg-busy-soft text-busy',
              )}
            >
              {isDone ? <Check size={12} aria-hidden="true" /> : index + 1}
            </span>
            <span class={classes('whitespace-nowrap', isCurrent && 'font-medium')}>{name}</span>
            {index < steps.length - 1 && (
              <span
                aria-hidden="true"
                class={classes('h-px min-w-4 flex-1 max-nav:hidden', isDone ? 'bg-good-fill' : 'bg-line-strong')}
              />
            )}
          </li>
        )
      })}
    </ol>
  )
}
