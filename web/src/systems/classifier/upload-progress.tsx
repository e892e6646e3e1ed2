/** The progress of an upload: bytes, files, the time that is left, and a button to stop. */
import { Square } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Progress } from '../../components/progress.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { newExecutionMessages } from './new-execution-messages.ts'
import type { Sending } from './use-submission.ts'

/** Before this share is sent the time that is left is a guess. */
const tellingMs = 2000

export function UploadProgress({ of: sending, onStop }: { of: Sending; onStop(): void }) {
  const words = useMessages(newExecutionMessages)
  const format = useFormat()
  const { files, bytes, sentBytes, startedAt, part, parts } = sending
  const share = bytes === 0 ? 1 : sentBytes / bytes
  const took = Date.now() - startedAt
  const isStored = share >= 1
  const facts = [
    words.sent(format.bytes(sentBytes), format.bytes(bytes)),
    words.about(Math.floor(share * files), files),
    ...(parts > 1 ? [words.part(part, parts)] : []),
    ...(took > tellingMs && share > 0 && !isStored ? [words.left(format.duration((took / share) * (1 - share)))] : []),
  ]
  return (
    <Card
      title={words.sending}
      hint={format.percent(Math.floor(share * 100))}
      actions={
        <Button size="sm" icon={Square} onClick={onStop}>
          {words.stop}
        </Button>
      }
    >
      <div class="flex flex-col gap-2" data-sending>
        <Progress
          label={words.sending}
          size="md"
          total={Math.max(1, bytes)}
          parts={[{ value: bytes === 0 ? 1 : sentBytes, tone: 'accent', label: words.sending }]}
        />
        <p class="text-muted">{isStored ? words.storing : facts.join(' · ')}</p>
      </div>
    </Card>
  )
}
