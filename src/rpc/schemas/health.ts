import { z } from 'zod'

const moment = z.number().describe('Unix milliseconds')
const part = z.object({ state: z.string(), ok: z.boolean(), text: z.string() })

const verdict = {
  state: z.enum(['healthy', 'degraded', 'stopped']),
  ok: z.boolean().describe('whether the node is healthy'),
  sinceMs: moment,
  text: z.string().describe('the state, and the first cause, in one or two sentences'),
  causes: z.array(
    z.object({
      code: z.string(),
      text: z.string(),
      sinceMs: moment.nullable(),
      command: z.string().nullable().describe('the command that ends the cause or explains it'),
    }),
  ),
  derivation: part,
  gossip: part.nullable().describe('null if the node runs without peers'),
}

export const healthEvent = z.object(verdict)

/** The result of devium_health. */
export const nodeHealth = z.object({
  ...verdict,
  node: z.object({
    name: z.string().nullable(),
    role: z.enum(['sequencer', 'verifier']),
    version: z.string(),
    chainId: z.string(),
    network: z.string().nullable().describe('name of the chain, if it has one'),
    peerID: z.string().nullable(),
  }),
  sequencer: z
    .object({ active: z.boolean(), conductor: z.boolean().describe('whether an op-conductor controls it') })
    .nullable(),
})
