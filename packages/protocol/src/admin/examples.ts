export const CLIENT_ID = 'c3f1a2b4';
export const PING_ID = '0kz8m1q7vK3pXc9RtYb2Lw5DnHs6JfG';
