/** The explanation of the engine: one sentence, what to do, and the button or the command that helps. */
import type { ComponentChildren } from 'preact'
import { CopyButton } from './code-block.tsx'
import { Sentence } from './sentence.tsx'

export interface ExplanationData {
  verdict: string
  sentence: string
  advice: { action: string; text: string; command: string | null }
}

const troubled = new Set([
  'stalled',
  'hung',
  'orphan',
  'timeout',
  'failed',
  'poison',
  'starved',
  'overdue',
  'unwritten',
])
const slowed = new Set(['paused', 'limited', 'suspect', 'slow'])

const kindOf = (verdict: string) => {
  if (troubled.has(verdict)) return 'bad'
  if (slowed.has(verdict)) return 'warn'
  return verdict === 'ok' ? 'good' : 'info'
}

interface ExplanationProps {
  of: ExplanationData
  /** The button of the advised action, if the user may press it. */
  action?: ComponentChildren
}

export function Explanation({ of: { verdict, sentence, advice }, action }: ExplanationProps) {
  return (
    <Sentence
      kind={kindOf(verdict)}
      hint={
        <>
          {capital(advice.text)}
          {advice.command !== null && (
            <span class="mt-1 flex items-center gap-1">
              <code class="rounded-sm bg-sunken px-1.5 py-0.5 font-mono text-sm text-ink">{advice.command}</code>
              <CopyButton text={advice.command} />
            </span>
          )}
        </>
      }
      {...(action === undefined ? {} : { action })}
    >
      {capital(sentence)}
    </Sentence>
  )
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
