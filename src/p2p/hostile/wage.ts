import type { Attack, Session } from './attacks.ts'
import { socketOf, startHostileHost } from './hostileHost.ts'

/** Simulates the cost of a new identity: a new address and some time. */
const NEW_IDENTITY_MS = 2_000

export interface AttackReport {
  identities: number
  stepsPerS: number
  /** Megabytes a second sent on the connection of its gossip stream. */
  mbPerS: number
}

export interface Target {
  address: string
  topic: string
  /** Local address of the next identity. Default: the system chooses. */
  localIp?: () => string
}

/** Attacks a node until the returned function is called. After each disconnection it continues with a new identity. */
export function wage(attack: Attack, { address, topic, localIp }: Target): () => Promise<AttackReport> {
  const startMs = performance.now()
  let isOver = false
  let count = 0
  let identities = 0
  let sentBytes = 0
  const attackAs = async (session: Session): Promise<void> => {
    await attack.begin?.(session)
    for (; !isOver; count++) {
      try {
        await attack.step(session, count)
      } catch {
        // A refused stream does not end the attack.
      }
      if (session.connection.status !== 'open') throw new Error('dropped')
      await pause(attack.everyMs)
    }
  }
  const loop = async (): Promise<void> => {
    while (!isOver) {
      identities += 1
      const hostile = await startHostileHost(localIp === undefined ? {} : { localIp: localIp() })
      try {
        const gossip = await hostile.join(address, [topic])
        const session: Session = { hostile, address, gossip, connection: gossip.connection }
        await attackAs(session).finally(() => {
          sentBytes += socketOf(session.connection).bytesWritten
        })
      } catch {
        if (!isOver) await pause(NEW_IDENTITY_MS)
      }
      attack.end?.(hostile)
      await hostile.stop().catch(() => {})
    }
  }
  const done = loop()
  return async () => {
    const seconds = (performance.now() - startMs) / 1_000
    isOver = true
    await done
    return { identities, stepsPerS: count / seconds, mbPerS: sentBytes / 1e6 / seconds }
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs))
}
