/** Says that the numbers of the page are not live any more, and from when the last number is. */
import { Sentence } from '../../components/sentence.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { LiveStatus } from '../../live/connection.ts'
import { sharedMessages } from './messages.ts'

export function LostConnection({ status: { state, lastAt } }: { status: LiveStatus }) {
  const words = useMessages(sharedMessages)
  const format = useFormat()
  if (state !== 'lost') return null
  return (
    <div role="alert">
      <Sentence kind="warn" hint={lastAt === null ? words.lostBefore : words.lostHint(format.time(lastAt))}>
        {words.lost}
      </Sentence>
    </div>
  )
}
