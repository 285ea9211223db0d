import { networkInterfaces } from 'node:os'

/** Not every machine or container has it. */
export const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
