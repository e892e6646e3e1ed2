/** The map of the documents: a cell each, a click shows the document. */
import { useMemo, useState } from 'react'
import { Card } from '../../components/card.tsx'
import { StateMap } from '../../components/state-map.tsx'
import type { CellState } from '../../components/state-map-model.ts'
import { useMessages } from '../../i18n/messages.ts'
import { statusMessages } from '../shared/messages.ts'
import type { DocumentStatus, Result } from './api-types.ts'
import { DocumentDialog } from './document-dialog.tsx'
import { executionMessages } from './execution-messages.ts'

const states: Readonly<Record<DocumentStatus, CellState>> = {
  PENDENTE: 'waiting',
  PROCESSANDO: 'running',
  CONCLUIDO: 'succeeded',
  ERRO: 'failed',
  PULADO: 'skipped',
}

interface DocumentMapProps {
  execution: string
  results: readonly Result[]
}

export function DocumentMap({ execution, results }: DocumentMapProps) {
  const words = useMessages(executionMessages)
  const names = useMessages(statusMessages)
  const [open, setOpen] = useState<string>()
  const cells = useMemo(() => results.map(({ status }) => states[status]), [results])
  const shown = results.find(({ codigo }) => codigo === open)
  if (cells.length === 0) return null
  const describe = (cell: number): string => {
    const row = results[cell]
    if (row === undefined) return ''
    return [row.codigo, names[row.status], row.categoria].filter(each => each !== null).join(' · ')
  }
  return (
    <Card title={words.map} hint={words.mapHint}>
      <StateMap
        cells={cells}
        label={words.mapLabel}
        describe={describe}
        onOpen={cell => setOpen(results[cell]?.codigo)}
        selection={([first, last]) => words.mapSelection(last - first + 1)}
      />
      {shown !== undefined && (
        <DocumentDialog execution={execution} result={shown} onClose={() => setOpen(undefined)} />
      )}
    </Card>
  )
}
