import type { testnetFlags } from '../flags.ts'
import type { Now } from './now.ts'

/** A script that hurts a testnet, and says what must become of it. A file of one has it as its default export. */
export interface Scenario {
  /** One sentence: what holds while the scenario passes. */
  about: string
  /** Flags of the testnet that it needs. Those on the command line win. */
  testnet?: ScenarioFlags
  steps(steps: Steps): Promise<void>
}

/** With the values that the command line takes. */
export type ScenarioFlags = { [flag in keyof typeof testnetFlags]?: string | number | boolean }

/** `before`: how things stood when the step began. A condition that throws is not met. */
export type Condition = (now: Now, before: Now) => boolean | Promise<boolean>

/** What a script can do. Each call is a step: it is shown, and stands on the timeline. */
export interface Steps {
  /** Has the testnet follow a command, as `devium testnet` does. Returns what the command did. */
  run(command: string): Promise<string>
  /** Waits until it is so; the scenario fails when it is not so within the limit, 120 s by default. */
  waitFor(what: string, condition: Condition, limitMs?: number): Promise<void>
  /** The scenario fails unless it is so now. */
  check(what: string, condition: Condition): Promise<void>
  /** The scenario fails as soon as it is not so, until the other condition is met. */
  holds(what: string, condition: Condition, until: Condition): Promise<void>
  now(): Promise<Now>
}
