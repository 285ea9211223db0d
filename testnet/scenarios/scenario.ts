import type { TestnetOptions } from '../flags.ts'
import type { Now } from './now.ts'

/** A script that injects faults into a testnet and checks the effects. A scenario file has it as its default export. */
export interface Scenario {
  /** One sentence: the property that the scenario checks. */
  about: string
  /** Flags of the testnet that it needs. The command line takes precedence. */
  testnet?: ScenarioFlags
  steps(steps: ScenarioSteps): Promise<void>
}

/** Flag values as on the command line. */
export type ScenarioFlags = { [flag in keyof TestnetOptions]?: string | number | boolean }

/** `before` is the state at the step's start. A condition that throws is not met. */
export type Condition = (now: Now, before: Now) => boolean | Promise<boolean>

/** The calls of a script. Each call is a step: the view and the timeline show it. */
export interface ScenarioSteps {
  /** Runs a command, as `devium testnet` does. Returns the command's result. */
  run(command: string): Promise<string>
  /** Waits until the condition is met. The scenario fails after the limit, 120 s by default. */
  waitFor(what: string, condition: Condition, limitMs?: number): Promise<void>
  /** The scenario fails unless the condition is met now. */
  check(what: string, condition: Condition): Promise<void>
  /** The scenario fails if the condition stops being met before `until` is met. */
  holds(what: string, condition: Condition, until: Condition): Promise<void>
  now(): Promise<Now>
}
