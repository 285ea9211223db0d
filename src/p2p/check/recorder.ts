import type { CheckOutcome, CheckStep, CheckStepName } from './steps.ts'

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
