import { readFile } from 'node:fs/promises'
import { describeError, isErrno, UsageError } from '../../lib/errors.ts'
import { isObject } from '../../lib/jsonReader.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { writeWhole } from '../../lib/wholeFile.ts'

/** op-node's `rpc.admin-state` file: the operator's decisions by RPC. */
export interface SequencerState {
  /** Empty if the file does not exist. */
  read(): Promise<StateMembers>
  /** Keeps the other members. */
  write(changes: StateMembers): Promise<void>
}

/** op-node's members, all optional booleans. */
const MEMBERS = ['sequencerStarted', 'sdmPostExecOptIn'] as const
export type StateMembers = Partial<Record<(typeof MEMBERS)[number], boolean>>

export function createSequencerState(path: string): SequencerState {
  const lock = createSemaphore(1)
  const read = async (): Promise<StateMembers> => {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (cause) {
      if (isErrno(cause, 'ENOENT')) return {}
      throw new UsageError(`cannot read admin state file ${path}: ${describeError(cause)}`, { cause })
    }
    return parseMembers(text, path)
  }
  return {
    read,
    write: (changes) => lock.run(async () => writeWhole(path, JSON.stringify({ ...(await read()), ...changes }))),
  }
}

function parseMembers(text: string, path: string): StateMembers {
  let state: unknown
  try {
    state = JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`admin state file ${path} is not JSON: ${describeError(cause)}`, { cause })
  }
  if (!isObject(state)) {
    throw new UsageError(`admin state file ${path} must hold a JSON object, such as {"sequencerStarted":true}`)
  }
  const members: StateMembers = {}
  for (const [name, value] of Object.entries(state)) {
    const known = MEMBERS.find((member) => member === name)
    if (known === undefined) throw new UsageError(`admin state file ${path} has an unknown member: ${name}`)
    if (typeof value !== 'boolean') throw new UsageError(`admin state file ${path}: ${name} must be true or false`)
    members[known] = value
  }
  return members
}
