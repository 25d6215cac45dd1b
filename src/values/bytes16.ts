/** A UUID as the contracts take it. */
export const bytes16 = (uuid: string): `0x${string}` => `0x${uuid.replaceAll('-', '').toLowerCase()}`;
