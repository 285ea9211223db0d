import type { Ending, StoppedProgram } from './stoppedProgram.ts'
import type { World } from './world.ts'

/** A state in which a program receives the stop signal. */
export interface StopState {
  state: string
  /** Starts a program and waits until it reaches the state. */
  reach(world: World): Promise<{ program: StoppedProgram }>
  /** The expected end. Default: exit code 0. */
  ending?: Partial<Pick<Ending, 'code' | 'signal'>>
  /** The program writes no log. */
  isMute?: boolean
}
