/** In the order in which a check goes through them. */
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

/** `warning`: does not keep the two nodes apart. `skipped`: there was nothing to look at. */
export type CheckOutcome = 'ok' | 'failed' | 'warning' | 'skipped'

export interface CheckStep {
  step: CheckStepName
  outcome: CheckOutcome
  /** What was found, in one line; what the peer said of itself is in ASCII. */
  text: string
  /** What it may come from, or what to do. */
  hint?: string
  /** Milliseconds that finding it out took; absent where nothing was waited for. */
  tookMs?: number
  /** The same for programs, where it says more than the text. */
  data?: Readonly<Record<string, unknown>>
}

export interface CheckReport {
  /** As given. */
  target: string
  /** The peer that was found, or else that was asked for. */
  peerId: string | null
  /** Null: nothing to compare with. */
  expectedChainId: string | null
  /** No step failed. */
  ok: boolean
  /** Where it ends: the first step that failed. */
  failedAt: CheckStepName | null
  verdict: string
  steps: CheckStep[]
}

/** What a step may add to its text. */
export type StepDetails = Partial<Pick<CheckStep, 'hint' | 'data' | 'tookMs'>>

/** Notes one step. */
export type Recorder = (step: CheckStepName, outcome: CheckOutcome, text: string, details?: StepDetails) => void

/** Keeps the steps in the order in which they are noted, and passes each on. */
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

/** Milliseconds as people read them: `0.4 ms` says nothing more than `0 ms`. */
export function formatMs(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

/** What a stranger sent, fit for a terminal: ASCII only, and not more than `maxLength` of it. */
export function printable(text: string, maxLength = 100): string {
  const plain = text.replace(/[^\x20-\x7e]/g, '?')
  return plain.length <= maxLength ? plain : `${plain.slice(0, maxLength - 1)}…`
}
