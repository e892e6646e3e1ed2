/** Starts a classification of the sample documents and goes to its page. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { newRequestKey } from '../../lib/request-key.ts'
import { classifierMessages } from './messages.ts'
import { paths } from './paths.ts'
import { sampleDocuments, sampleProject } from './sample-documents.ts'

export function useSample(): { isBusy: boolean; start(): Promise<void> } {
  const words = useMessages(classifierMessages)
  const toast = useToast()
  const [, navigate] = useLocation()
  const [isBusy, setBusy] = useState(false)
  const [key] = useState(newRequestKey)
  const start = async () => {
    setBusy(true)
    try {
      const project = await call('POST /projetos', { body: sampleProject }, { idempotencyKey: `${key}-p` })
      const body = { projeto_id: project.id, documentos: sampleDocuments }
      const { id, total } = await call('POST /execucoes', { body }, { idempotencyKey: `${key}-e` })
      toast.show('good', words.sampleStarted(total))
      navigate(paths.execution(id))
    } catch (error) {
      toast.show('bad', (error as Error).message)
      setBusy(false)
    }
  }
  return { isBusy, start }
}
