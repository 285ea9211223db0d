/** In the order of the check. */
const CHECK_STEPS = [
  'address',
  'record',
  'own node',
  'name',
  'tcp',
  'security',
  'peer id',
  'muxer',
  'identify',
  'gossip',
  'topics',
  'blocks',
  'connection',
  'udp',
] as const
export type CheckStepName = (typeof CHECK_STEPS)[number]

/** `warning`: the fault does not prevent a connection. `skipped`: there was nothing to check. */
export type CheckOutcome = 'ok' | 'failed' | 'warning' | 'skipped'

export interface CheckStep {
  step: CheckStepName
  outcome: CheckOutcome
  /** The result in one line. Texts of the peer are reduced to ASCII. */
  text: string
  /** A possible cause, or what to do. */
  hint?: string
  /** Duration in milliseconds; absent if the step did not wait. */
  tookMs?: number
  /** Details for programs, where they exceed the text. */
  data?: Readonly<Record<string, unknown>>
}

export interface CheckReport {
  /** The text that the operator gave. */
  target: string
  /** The peer that answered, else the expected peer. */
  peerId: string | null
  /** Null: there is no chain id to compare with. */
  expectedChainId: string | null
  /** No step failed. */
  ok: boolean
  /** The first failed step. */
  failedAt: CheckStepName | null
  verdict: string
  steps: CheckStep[]
}

/** Details that a step may add to its text. */
export type StepDetails = Partial<Pick<CheckStep, 'hint' | 'data' | 'tookMs'>>

/** Records one step. */
export type Recorder = (step: CheckStepName, outcome: CheckOutcome, text: string, details?: StepDetails) => void

/** Keeps the steps in the order of recording, and passes each on. */
export function createRecorder(onStep?: (step: CheckStep) => void): { steps: CheckStep[]; record: Recorder } {
  const steps: CheckStep[] = []
  return {
    steps,
    record(step, outcome, text, details = {}) {
      const done: CheckStep = { step, outcome, text, ...details }
      steps.push(done)
      onStep?.(done)
    },
  }
}

/** Formats milliseconds without decimals: they carry no information here. */
export function formatMs(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

/** Reduces a text of an unauthenticated peer to at most `maxLength` printable ASCII characters. */
export function printable(text: string, maxLength = 100): string {
  const plain = text.replace(/[^\x20-\x7e]/g, '?')
  return plain.length <= maxLength ? plain : `${plain.slice(0, maxLength - 1)}…`
}
