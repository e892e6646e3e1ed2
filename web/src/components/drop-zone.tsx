/** A place to drop files or folders on, with buttons for the keyboard and for browsers on telephones. */
import { CloudUpload, FileUp, FolderUp } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'react'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { chosenFiles, droppedFiles } from '../lib/dropped-files.ts'
import { Button } from './button.tsx'
import { componentMessages } from './messages.ts'
import { Spinner } from './spinner.tsx'

interface DropZoneProps {
  /** What to drop here: "Solte PDFs aqui". */
  title: string
  /** What is taken: types, sizes, how many. */
  hint?: ComponentChildren
  /** As of an <input>: ".pdf,.txt". Dropped files are not filtered: the server says what it cannot read. */
  accept?: string
  /** Also offers to choose a folder. */
  folders?: boolean
  disabled?: boolean
  /** Lower, for a page where files are one thing among others. */
  compact?: boolean
  onFiles(files: File[]): void
}

export function DropZone({
  title,
  hint,
  accept = '',
  folders = false,
  disabled = false,
  compact = false,
  onFiles,
}: DropZoneProps) {
  const words = useMessages(componentMessages)
  const [isOver, setOver] = useState(false)
  const [isReading, setReading] = useState(false)
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (found: File[]) => {
    if (found.length > 0) onFiles(found)
  }
  const drop = async (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    if (disabled || event.dataTransfer === null) return
    setReading(true)
    try {
      take(await droppedFiles(event.dataTransfer))
    } finally {
      setReading(false)
    }
  }
  const choose = (event: { currentTarget: HTMLInputElement }) => {
    take(chosenFiles(event.currentTarget.files ?? []))
    // The same files may be chosen once more.
    event.currentTarget.value = ''
  }
  return (
    <div
      role="group"
      aria-label={title}
      data-drop-zone
      class={classes(
        'flex flex-wrap items-center justify-center gap-x-6 gap-y-3 rounded-lg border border-dashed px-6 text-center transition-colors',
        compact ? 'py-4' : 'flex-col py-10',
        isOver ? 'border-accent bg-accent-soft' : 'border-line-strong bg-sunken',
        disabled && 'opacity-60',
      )}
      onDragOver={event => {
        event.preventDefault()
        setOver(!disabled)
      }}
      onDragLeave={event => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false)
      }}
      onDrop={event => void drop(event)}
    >
      <div class={classes('flex min-w-0 items-center gap-3', compact ? 'flex-1 basis-52 text-left' : 'flex-col')}>
        <CloudUpload size={compact ? 20 : 24} class={isOver ? 'text-accent' : 'text-faint'} aria-hidden="true" />
        <div>
          <p class="text-md font-medium">{title}</p>
          {hint !== undefined && <p class="text-sm text-muted">{hint}</p>}
        </div>
      </div>
      <div class="flex flex-wrap items-center justify-center gap-2">
        {isReading && (
          <span role="status" class="flex items-center gap-1.5 text-muted">
            <Spinner />
            {words.readingFiles}
          </span>
        )}
        <Button icon={FileUp} disabled={disabled} onClick={() => files.current?.click()}>
          {words.chooseFiles}
        </Button>
        {folders && (
          <Button icon={FolderUp} disabled={disabled} onClick={() => folder.current?.click()}>
            {words.chooseFolder}
          </Button>
        )}
      </div>
      <input ref={files} type="file" multiple hidden accept={accept} onChange={choose} data-choose="files" />
      {folders && (
        <input
          ref={folder}
          type="file"
          multiple
          hidden
          {...{ webkitdirectory: true }}
          onChange={choose}
          data-choose="folder"
        />
      )}
    </div>
  )
}
